import Diagnostics

/// Foundation's collections, one level at a time: references to members are followed, and the members are not expanded.
extension ArchivedValue {
    /// The members of an NSArray, NSSet or NSOrderedSet, or of a plain array; nil for other values.
    ///
    /// - Throws: `archive.type` if the collection has no list of members, `archive.reference`.
    /// - Complexity: O(members).
    package func elements() throws(MigrationError) -> [ArchivedValue]? {
        switch self {
        case .plain(.array(let members)), .plain(.set(let members)): return try members.map(Self.plainMember)
        case .null, .plain: return nil
        case .object(let object):
            guard object.isKind(of: "NSArray") || object.isKind(of: "NSSet") || object.isKind(of: "NSOrderedSet")
            else { return nil }
            if let members = try object.members("NS.objects") { return members }
            // NSOrderedSet, and the sets of old archivers, have one numbered field for each member.
            var members: [ArchivedValue] = []
            while let field = object.field("NS.object.\(members.count)") {
                members.append(try object.archive.value(of: field))
            }
            return members
        }
    }

    /// The entries of an NSDictionary or NSKnownKeysDictionary1, in the archive's order; nil for other values.
    ///
    /// - Throws: `archive.type` if there are more keys than values or the reverse, `archive.reference`.
    /// - Complexity: O(entries).
    package func entries() throws(MigrationError) -> [(key: ArchivedValue, value: ArchivedValue)]? {
        guard case .object(let object) = self, object.isKind(of: "NSDictionary") else { return nil }
        if object.field("searchMapping") != nil { return try object.knownKeysEntries() }
        guard let keys = try object.members("NS.keys"), let values = try object.members("NS.objects"),
            keys.count == values.count
        else { throw object.damaged("a dictionary whose keys and values do not pair up") }
        return zip(keys, values).map { ($0, $1) }
    }

    /// The member of a plain array. There is no archive in which references could be followed.
    private static func plainMember(_ member: PropertyListValue) throws(MigrationError) -> ArchivedValue {
        if case .uid = member { throw .archive("archive.type", "A plain array of the archive holds references") }
        return member == .null ? .null : .plain(member)
    }
}

extension ArchivedObject {
    /// The members of a field that is a plain array (`NS.objects`), with references followed; nil if the field is missing.
    package func members(_ key: String) throws(MigrationError) -> [ArchivedValue]? {
        guard let field = field(key) else { return nil }
        guard case .array(let references) = field else {
            throw damaged("a collection whose \(key) is a \(field.kindName)")
        }
        return try references.map { reference throws(MigrationError) in try archive.value(of: reference) }
    }

    /// The entries of an NSKnownKeysDictionary1: `values[i]` belongs to `searchMapping.keys[i]`; a slot with the `emptyToken`
    /// is empty.
    fileprivate func knownKeysEntries() throws(MigrationError) -> [(key: ArchivedValue, value: ArchivedValue)] {
        guard let mapping = try object("searchMapping"), let keys = try mapping.elements("keys"),
            let values = try elements("values"), keys.count == values.count
        else { throw damaged("a dictionary of known keys whose keys and values do not pair up") }
        let token = try value("emptyToken")
        return zip(keys, values).filter { _, value in
            if case .plain(let plain) = value, case .plain(let empty) = token { plain != empty } else { true }
        }.map { ($0, $1) }
    }
}
