import Diagnostics

/// A part of a keyed archive, unchanged: an object with everything that it refers to, to be put into another archive.
///
/// Objects that belong to the whole archive (a model's entities and properties) are referred to by name. Cycles and shared
/// objects are kept.
package struct ArchivedGraph: Sendable, Equatable {
    /// A value of the graph. References in fields are positions among the graph's nodes.
    enum Node: Sendable, Equatable {
        case null
        case plain(PropertyListValue)
        case object(classNames: [String], fields: PropertyListDictionary)
        case outside(String)
    }

    /// The nodes; the first one is the root.
    let nodes: [Node]

    /// The class of the root; nil for a plain value.
    package var className: String? {
        if case .object(let names, _)? = nodes.first { names.first } else { nil }
    }

    /// Copies the part of an archive that begins at a value.
    ///
    /// - Parameter outside: returns the name of an object that is not part of the graph; nil for its parts.
    /// - Throws: `archive.limit`, `archive.reference`, `archive.type`.
    /// - Complexity: O(nodes).
    package init(
        _ value: ArchivedValue, outside: @escaping (ArchivedObject) throws(MigrationError) -> String?
    ) throws(MigrationError) {
        var copy = GraphCopy(outside: outside)
        try copy.add(value)
        nodes = copy.nodes
    }

    /// The value, if the graph is a value without a class; nil for objects.
    package var plainValue: PropertyListValue? {
        switch nodes.first {
        case .null?: .null
        case .plain(let value)?: value
        default: nil
        }
    }

    /// Returns the text in a field of the root; nil if there is none.
    package func string(_ key: String) -> String? {
        guard case .object(_, let fields)? = nodes.first else { return nil }
        switch fields[key] {
        case .string(let text)?: return text
        case .uid(let place)?:
            guard place < UInt64(nodes.count), case .plain(.string(let text)) = nodes[Int(place)] else { return nil }
            return text
        default: return nil
        }
    }

    /// Bytes that are equal for equal graphs only.
    ///
    /// - Complexity: O(nodes).
    package var digestBytes: [UInt8] {
        let values: [PropertyListValue] = nodes.map { node in
            switch node {
            case .null: .array([])
            case .plain(let value): .array([value])
            case .outside(let name): .array([.string(name), .boolean(true)])
            case .object(let names, let fields):
                .array([.array(names.map { .string($0) }), .dictionary(fields), .boolean(false)])
            }
        }
        // Values of an archive that was read can be written.
        return (try? BinaryPropertyList.encode(.array(values))) ?? []
    }

    /// The number of values in the graph.
    package var count: Int { nodes.count }
}

/// Walks an archive breadth first, so that equal graphs have equal nodes.
private struct GraphCopy {
    /// The most nodes. Without a limit, shared parts of a hostile archive would multiply.
    private static let mostNodes = 20_000

    let outside: (ArchivedObject) throws(MigrationError) -> String?
    private(set) var nodes: [ArchivedGraph.Node] = []
    /// Position of each object by its number in the archive.
    private var places: [Int: Int] = [:]
    private var waiting: [(place: Int, object: ArchivedObject)] = []

    init(outside: @escaping (ArchivedObject) throws(MigrationError) -> String?) { self.outside = outside }

    mutating func add(_ value: ArchivedValue) throws(MigrationError) {
        _ = try place(of: value)
        var next = 0
        while next < waiting.count {
            let (place, object) = waiting[next]
            next += 1
            var fields = PropertyListDictionary()
            for key in object.keys {
                guard let field = object.field(key) else { continue }
                fields.add(try copied(field, of: object, depth: 0), forKey: key)
            }
            nodes[place] = .object(classNames: object.classNames, fields: fields)
        }
    }

    private mutating func place(of value: ArchivedValue) throws(MigrationError) -> Int {
        if case .object(let object) = value, let place = places[object.uid] { return place }
        guard nodes.count < Self.mostNodes else {
            throw .archive("archive.limit", "A part of the archive has more than \(Self.mostNodes) values")
        }
        switch value {
        case .null: nodes.append(.null)
        case .plain(let plain): nodes.append(.plain(plain))
        case .object(let object):
            places[object.uid] = nodes.count
            if let name = try outside(object) {
                nodes.append(.outside(name))
            } else {
                waiting.append((nodes.count, object))
                nodes.append(.null)
            }
        }
        return nodes.count - 1
    }

    private mutating func copied(
        _ field: PropertyListValue, of object: ArchivedObject, depth: Int
    ) throws(MigrationError) -> PropertyListValue {
        guard depth < 16 else { throw .archive("archive.limit", "A field of the archive is nested too deeply") }
        if case .uid = field { return .uid(UInt64(try place(of: object.archive.value(of: field)))) }
        return try field.mapMembers { member throws(MigrationError) in
            try copied(member, of: object, depth: depth + 1)
        }
    }
}

extension KeyedArchiveBuilder {
    /// Adds a graph.
    ///
    /// - Parameter outside: returns the place of an object that the graph names; nil if it does not exist. It is nil in the
    ///   copy then.
    /// - Returns: the place of the graph's root.
    package mutating func graph(
        _ graph: ArchivedGraph, outside: (String) -> Reference?
    ) -> Reference {
        let places: [Reference] = graph.nodes.map { node in
            switch node {
            case .null: .null
            case .plain(let value): plain(value)
            case .outside(let name): outside(name) ?? .null
            case .object: reserve()
            }
        }
        for (place, node) in zip(places, graph.nodes) {
            guard case .object(let names, let fields) = node, let className = ClassName(names: names) else { continue }
            fill(place, className, fields.map { ($0.key, Self.placed($0.value, places)) })
        }
        return places.first ?? .null
    }

    private static func placed(_ value: PropertyListValue, _ places: [Reference]) -> PropertyListValue {
        switch value {
        case .uid(let place): places.indices.contains(Int(clamping: place)) ? places[Int(place)].field : .uid(0)
        default: value.mapMembers { placed($0, places) }
        }
    }
}

extension ArchivedGraph {
    /// Makes a graph: that of the root which a builder's body makes.
    ///
    /// - Throws: the errors of the body, `archive.limit`.
    package static func made(
        _ body: (inout KeyedArchiveBuilder) throws(MigrationError) -> KeyedArchiveBuilder.Reference
    ) throws(MigrationError) -> ArchivedGraph {
        var builder = KeyedArchiveBuilder()
        let root = try body(&builder)
        let archive = try KeyedArchive(decoding: try builder.encode(root: root))
        return try ArchivedGraph(try archive.topValue()) { _ in nil }
    }
}
