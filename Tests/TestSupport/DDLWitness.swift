import ManagedModel

/// The statements that Core Data makes for a model, by a second reading of the rules: slow, plain, and with nothing in common
/// with the product's own. Parts without a known form (an expression in an index, a predicate, derivations but counts and key
/// paths) are left to the product, and are in no statement here.
package struct DDLWitness {
    package private(set) var tables: [String] = []
    package private(set) var joinTables: [String] = []
    package private(set) var indexes: [String] = []
    package private(set) var triggers: [String] = []
    package private(set) var virtualTables: [String] = []

    private let model: ManagedObjectModel
    private var number: [Int: Int] = [:]
    /// Table name of each entity.
    private var table: [Int: String] = [:]
    /// Column of each attribute and to-one, by `entity index.name`.
    private var column: [String: String] = [:]
    private var usedTables: [String] = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
    private var usedIndexes: [String] = []

    package init(_ model: ManagedObjectModel) {
        self.model = model
        let order = walk(model.entities.filter { $0.superentity == nil })
        for (place, entity) in order.enumerated() { number[entity.index] = place + 1 }
        let roots = order.filter { $0.superentity == nil }
        for root in roots {
            let name = Self.free("Z" + root.definition.name.uppercased(), &usedTables)
            for entity in order where entity.root == root { table[entity.index] = name }
        }
        var columns: [Int: [(name: String, type: String)]] = [:]
        for root in roots { columns[root.index] = makeTable(root, order.filter { $0.root == root }) }
        makeJoinTables()
        usedIndexes = usedTables
        for root in roots { makeIndexes(root, order.filter { $0.root == root }, columns[root.index] ?? []) }
        for entity in order { makeTriggers(entity) }
    }

    // MARK: - Names and order

    /// Without regard to case, ties with it.
    private static func precedes(_ one: String, _ other: String) -> Bool {
        func folded(_ text: String) -> [UInt32] { text.lowercased().unicodeScalars.map(\.value) }
        return folded(one) == folded(other)
            ? one.unicodeScalars.lexicographicallyPrecedes(other.unicodeScalars)
            : folded(one).lexicographicallyPrecedes(folded(other))
    }

    private func walk(_ entities: [EntityDescription]) -> [EntityDescription] {
        entities.sorted { Self.precedes($0.definition.name, $1.definition.name) }.flatMap { entity in
            [entity] + walk(model.entities.filter { $0.superentity == entity })
        }
    }

    /// The name, or with the least number that makes it new.
    private static func free(_ name: String, _ used: inout [String]) -> String {
        var candidate = name
        var digit = 0
        while used.contains(where: { $0.uppercased() == candidate.uppercased() }) {
            digit += 1
            candidate = name + String(digit)
        }
        used.append(candidate)
        return candidate
    }

    private static func quoted(_ name: String) -> String {
        let isPlain = name.unicodeScalars.enumerated().allSatisfy { place, scalar in
            scalar.value > 127 || scalar == "_" || ("A"..."Z").contains(scalar) || ("a"..."z").contains(scalar)
                || place > 0 && (("0"..."9").contains(scalar) || scalar == "$")
        }
        return isPlain
            ? name
            : "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    private func own(_ entity: EntityDescription) -> [RelationshipDescription] {
        entity.relationships.filter { $0.entity == entity && !$0.isTransient }.sorted {
            Self.precedes($0.name, $1.name)
        }
    }

    /// The inverse that a to-many shares its links with.
    private func partner(_ relationship: RelationshipDescription) -> RelationshipDescription? {
        guard let inverse = relationship.inverseRelationship, !inverse.isTransient,
            inverse.destination.root == relationship.entity.root
        else { return nil }
        return inverse
    }

    private func key(_ relationship: RelationshipDescription) -> String {
        "\(relationship.entity.index).\(relationship.name)"
    }

    // MARK: - Entity tables

    private static let classes: [AttributeType: (Int, String)] = [
        .integer16: (0, "INTEGER"), .integer32: (0, "INTEGER"), .integer64: (0, "INTEGER"), .boolean: (0, "INTEGER"),
        .date: (2, "TIMESTAMP"), .double: (2, "FLOAT"), .float: (2, "FLOAT"), .decimal: (3, "DECIMAL"),
        .string: (4, "VARCHAR"), .uri: (5, "VARCHAR"), .uuid: (6, "BLOB"), .transformable: (7, "BLOB"),
        .binaryData: (8, "BLOB"),
    ]

    /// - Returns: the columns after Z_PK that an index of their own is over: to-ones and hidden ones.
    private mutating func makeTable(
        _ root: EntityDescription, _ entities: [EntityDescription]
    ) -> [(name: String, type: String)] {
        var used = ["Z_PK", "Z_ENT", "Z_OPT"]
        var found: [(rank: Int, name: String, type: String, isKey: Bool)] = []
        for entity in entities {
            let attributes = entity.attributes.filter { $0.declaringEntityIndex == entity.index && !$0.isTransient }
            for attribute in attributes.sorted(by: {
                $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars)
            }) {
                guard let (rank, type) = Self.classes[attribute.attributeType] else { continue }
                let name = Self.free("Z" + attribute.name.uppercased(), &used)
                column["\(entity.index).\(attribute.name)"] = name
                found.append((rank, name, type, false))
            }
            for relationship in own(entity) where !relationship.isToMany {
                let name = Self.free("Z" + relationship.name.uppercased(), &used)
                column[key(relationship)] = name
                found.append((0, name, "INTEGER", true))
                if model.entities.contains(where: { $0.superentity == relationship.destination }) {
                    let other = number[relationship.destination.index] ?? 0
                    found.append((0, Self.free("Z\(other)_" + name.dropFirst(), &used), "INTEGER", false))
                }
            }
            for owner in walk(model.entities.filter { $0.superentity == nil }) {
                for relationship in own(owner)
                where relationship.isToMany && partner(relationship) == nil && relationship.destination == entity {
                    let name = "\(number[owner.index] ?? 0)" + relationship.name.uppercased()
                    found.append((0, Self.free("Z" + name, &used), "INTEGER", true))
                    if relationship.isOrdered { found.append((0, Self.free("Z_FOK_" + name, &used), "INTEGER", false)) }
                }
            }
        }
        for owner in walk(model.entities.filter { $0.superentity == nil }) {
            for relationship in own(owner).reversed() where relationship.isToMany && relationship.isOrdered {
                guard let inverse = partner(relationship), !inverse.isToMany, entities.contains(inverse.entity),
                    let name = column[key(inverse)]
                else { continue }
                found.append((1, Self.free("Z_FOK_" + name.dropFirst(), &used), "INTEGER", false))
            }
        }
        let sorted = found.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(
            \.element)
        let list =
            (["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"]
            + sorted.map { "\(Self.quoted($0.name)) \($0.type)" }).joined(separator: ", ")
        tables.append("CREATE TABLE \(Self.quoted(table[root.index] ?? "")) ( \(list) )")
        return sorted.filter(\.isKey).map { ($0.name, $0.type) }
    }

    // MARK: - Join tables

    private mutating func makeJoinTables() {
        var seen: [Set<String>] = []
        var used: [String] = []
        for entity in model.entities.sorted(by: { Self.precedes($0.definition.name, $1.definition.name) }) {
            let relationships = entity.relationships.filter { !$0.isTransient && $0.isToMany }
            for near in relationships.sorted(by: { Self.precedes($1.name, $0.name) }) {
                guard let far = partner(near), far.isToMany, !seen.contains([key(near), key(far)]) else { continue }
                seen.append([key(near), key(far)])
                let (one, other) = (number[near.entity.index] ?? 0, number[far.entity.index] ?? 0)
                let name = Self.free("Z_\(one)" + near.name.uppercased(), &usedTables)
                let first = Self.free("Z_\(one)" + far.name.uppercased(), &used)
                let second = near == far ? "REFLEXIVE" : Self.free("Z_\(other)" + near.name.uppercased(), &used)
                var columns = [first, second]
                if far.isOrdered { columns.append("Z_FOK_" + first.dropFirst(2)) }
                if near.isOrdered, near != far { columns.append("Z_FOK_" + second.dropFirst(2)) }
                let list = columns.map { "\(Self.quoted($0)) INTEGER, " }.joined()
                let keys = "\(Self.quoted(first)), \(Self.quoted(second))"
                joinTables.append("CREATE TABLE \(Self.quoted(name)) ( \(list)PRIMARY KEY (\(keys)) )")
                indexes.append(
                    "CREATE INDEX \(Self.quoted("\(name)_\(second)_INDEX")) ON \(Self.quoted(name)) "
                        + "(\(Self.quoted(second)), \(Self.quoted(first)))")
            }
        }
    }

    // MARK: - Indexes

    private mutating func makeIndexes(
        _ root: EntityDescription, _ entities: [EntityDescription], _ keys: [(name: String, type: String)]
    ) {
        let name = table[root.index] ?? ""
        func index(_ own: String, _ terms: String, unique: Bool = false, condition: String = "") {
            indexes.append(
                "CREATE \(unique ? "UNIQUE " : "")INDEX \(Self.quoted(Self.free(own, &usedIndexes))) ON "
                    + "\(Self.quoted(name)) (\(terms))\(condition)")
        }
        for key in keys { index("\(name)_\(key.name)_INDEX", Self.quoted(key.name)) }
        if entities.count > 1 { index("\(name)_Z_ENT_INDEX", "Z_ENT") }
        for entity in entities {
            for declared in fetchIndexes(entity) {
                if declared.elements.contains(where: \.isRTree) {
                    makeTree(declared, entity, name)
                    continue
                }
                let isAlone = declared.elements.count == 1 && (declared.partialIndexPredicate ?? "").isEmpty
                let isToOne =
                    declared.elements.first?.propertyName.flatMap(entity.relationship(named:))?.isToMany == false
                if isAlone, isToOne { continue }
                let terms = declared.elements.map { element in
                    place(element.propertyName ?? element.expression ?? "", entity).map {
                        "\(Self.quoted($0)) COLLATE BINARY \(element.isAscending ? "ASC" : "DESC")"
                    }
                }
                guard !terms.isEmpty, !terms.contains(nil), (declared.partialIndexPredicate ?? "").isEmpty else {
                    continue
                }
                index("Z_\(entity.definition.name)_\(declared.name)", terms.compactMap(\.self).joined(separator: ", "))
            }
        }
        for entity in entities {
            for constraint in entity.definition.uniquenessConstraints where !constraint.isEmpty {
                if let parent = entity.superentity, inherited(parent).contains(constraint) { continue }
                let terms = constraint.map { place($0, entity) }
                guard !terms.contains(nil) else { continue }
                index(
                    "Z_\(entity.definition.name)_UNIQUE_\(constraint.joined(separator: "_"))",
                    terms.compactMap(\.self).map { "\(Self.quoted($0)) COLLATE BINARY ASC" }.joined(separator: ", "),
                    unique: true)
            }
        }
    }

    private func inherited(_ entity: EntityDescription) -> [[String]] {
        entity.definition.uniquenessConstraints + (entity.superentity.map(inherited) ?? [])
    }

    /// The declared ones, the first of each name, then those of the old styles whose columns no declared one has.
    private func fetchIndexes(_ entity: EntityDescription) -> [FetchIndexDefinition] {
        var indexes: [FetchIndexDefinition] = []
        for declared in entity.definition.indexes where !indexes.contains(where: { $0.name == declared.name }) {
            indexes.append(declared)
        }
        func column(_ subject: String?) -> String? { subject.map { place($0, entity) ?? $0 } }
        let marked = entity.definition.attributes.filter { $0.isIndexed && !$0.isTransient }
            .sorted { Self.precedes($0.name, $1.name) }.map { [$0.name] }
        for properties in marked + entity.definition.compoundIndexes where !properties.isEmpty {
            let name = properties.joined(separator: "_")
            let isCovered = indexes.contains { known in
                known.name == name
                    || known.elements.map { column($0.propertyName ?? $0.expression) } == properties.map(column)
            }
            if isCovered { continue }
            var index = FetchIndexDefinition(name: name)
            index.elements = properties.map { FetchIndexElement(propertyName: $0) }
            indexes.append(index)
        }
        return indexes
    }

    /// The column of a property, own or inherited, of the object id or of the entity.
    private func place(_ property: String, _ entity: EntityDescription) -> String? {
        if let attribute = entity.attribute(named: property) {
            return column["\(attribute.declaringEntityIndex).\(property)"]
        }
        if let relationship = entity.relationship(named: property) { return column[key(relationship)] }
        return ["self": "Z_PK", "SELF": "Z_PK", "objectID": "Z_PK", "entity": "Z_ENT"][property]
    }

    private mutating func makeTree(_ index: FetchIndexDefinition, _ entity: EntityDescription, _ table: String) {
        let columns = index.elements.compactMap { $0.propertyName.flatMap { place($0, entity) } }
        guard columns.count == index.elements.count else { return }
        let tree = "Z_RT_\(entity.definition.name)_\(index.name)"
        let bounds = columns.flatMap { [$0 + "_MIN", $0 + "_MAX"] }
        virtualTables.append(
            "CREATE VIRTUAL TABLE \(tree) USING RTREE (Z_PK INTEGER PRIMARY KEY, "
                + bounds.map { $0 + " FLOAT" }.joined(separator: ", ") + ")")
        var values = columns.map { "NEW.\($0), NEW.\($0)" }
        values[0] = "NEW.\(columns[0]) ,NEW.\(columns[0])"
        let row = "(Z_PK, \(bounds.joined(separator: ", "))) VALUES (NEW.Z_PK, \(values.joined(separator: ", "))) ;"
        func trigger(_ event: String, _ body: String) {
            triggers.append(
                "CREATE TRIGGER \(tree)_\(event) AFTER \(event) ON \(table) FOR EACH ROW BEGIN \(body) END")
        }
        trigger("INSERT", "INSERT OR REPLACE INTO \(tree) \(row)")
        trigger("UPDATE", "DELETE FROM \(tree) WHERE Z_PK = NEW.Z_PK ; INSERT INTO \(tree) \(row)")
        trigger("DELETE", "DELETE FROM \(tree) WHERE Z_PK = OLD.Z_PK ;")
    }

    // MARK: - Triggers

    private mutating func makeTriggers(_ entity: EntityDescription) {
        for attribute in entity.definition.attributes.sorted(by: { Self.precedes($0.name, $1.name) })
        where !attribute.isTransient {
            let parts = (attribute.derivationExpression ?? "").split(separator: ".", omittingEmptySubsequences: false)
                .map(String.init)
            guard parts.count == 2, let relationship = entity.relationship(named: parts[0]),
                let own = place(attribute.name, entity)
            else { continue }
            let (te, ca) = (table[entity.index] ?? "", Self.quoted(own))
            func trigger(
                _ on: String, _ suffix: String, _ event: String, _ set: String, _ which: String, _ verb: String
            ) {
                let text = which.replacing("!", with: "")
                triggers.append(
                    "CREATE TRIGGER Z_DA_\(on)_\(entity.definition.name)_\(attribute.name)_\(suffix) AFTER \(event) ON \(on) FOR EACH ROW"
                        + (which.contains("!") ? " WHEN (\(which.split(separator: "!")[1]) NOT NULL)" : "")
                        + " BEGIN UPDATE \(te) SET \(ca) = \(set) WHERE \(text); "
                        + "SELECT NSCoreDataDATrigger\(verb)AffectedObjectValue('\(te)', Z_ENT, Z_PK, '\(attribute.name)', "
                        + "\(ca)) FROM \(te) WHERE \(text); END")
            }
            if parts[1] == "@count" {
                guard relationship.isToMany, let inverse = partner(relationship), !inverse.isToMany,
                    let cm = column[key(inverse)].map(Self.quoted), let tm = table[inverse.entity.index]
                else { continue }
                trigger(tm, "PARAMETER_INSERT", "INSERT", "IFNULL(\(ca), 0) + 1", "Z_PK = !NEW.\(cm)", "Updated")
                trigger(
                    tm, "PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(cm)", "\(ca) + 1", "Z_PK = !NEW.\(cm)", "Updated")
                trigger(
                    tm, "PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(cm)", "\(ca) - 1", "Z_PK = !OLD.\(cm)", "Updated")
                trigger(tm, "PARAMETER_DELETE", "DELETE", "\(ca) - 1", "Z_PK = !OLD.\(cm)", "Updated")
                trigger(
                    te, "SOURCE_INSERT", "INSERT",
                    "(SELECT IFNULL(COUNT(\(cm)), 0) FROM \(tm) WHERE \(cm) = NEW.Z_PK)", "Z_PK = NEW.Z_PK",
                    "InsertUpdated")
            } else if !relationship.isToMany, let cr = column[key(relationship)].map(Self.quoted),
                relationship.destination.attribute(named: parts[1]) != nil,
                let cb = place(parts[1], relationship.destination).map(Self.quoted),
                let td = table[relationship.destination.index]
            {
                let looked = "(SELECT \(cb) FROM \(td) WHERE Z_PK = NEW.\(cr))"
                trigger(te, "SOURCE_INSERT", "INSERT", looked, "Z_PK = NEW.Z_PK", "InsertUpdated")
                trigger(te, "SOURCE_UPDATE", "UPDATE OF \(cr)", looked, "Z_PK = NEW.Z_PK", "Updated")
                trigger(td, "PARAMETER_INSERT", "INSERT", "NEW.\(cb)", "\(cr) = NEW.Z_PK", "InsertUpdated")
                trigger(td, "PARAMETER_UPDATE", "UPDATE OF \(cb)", "NEW.\(cb)", "\(cr) = NEW.Z_PK", "Updated")
            }
        }
    }
}
