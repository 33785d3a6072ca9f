/// The declarations of all sources that are ported together.
struct SourceDeclarations {
    let classes: [DeclaredType]
    let extensions: [DeclaredType]
    private let byName: [String: DeclaredType]
    /// The names of classes that inherit from the framework's managed object.
    let objectClasses: Set<String>
    /// The names of classes that inherit from the framework's policy class.
    let policyClasses: Set<String>
    /// The superclass of policies that no source declares, by the name of each class that inherits from it.
    let unknownBases: [String: String]
    /// The properties by the name of their class, then by their own.
    private let properties: [String: [String: DeclaredProperty]]

    /// The names of all types and of all methods of types.
    private let typeNames: Set<String>
    private let methodNames: Set<String>
    /// The names that each source declares or sees, by file.
    let names: [String: SourceNames]

    static let objectRoots: Set<String> = ["NSManagedObject", "ManagedObject"]
    static let policyRoots: Set<String> = ["NSEntityMigrationPolicy", "EntityMigrationPolicy"]

    /// - Parameter skeletons: the names of the classes in Objective-C of which the copies have skeletons.
    init(_ readers: [DeclarationReader], skeletons: Set<String> = []) {
        let types = readers.flatMap(\.types)
        let classes = types.filter { !$0.isExtension }
        let byName = Dictionary(classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.classes = classes
        self.byName = byName
        extensions = types.filter(\.isExtension)
        func inherits(_ declared: DeclaredType, from roots: Set<String>) -> Bool {
            guard let superclass = declared.superclass else { return false }
            return !roots.isDisjoint(with: Self.lineage(of: superclass) { byName[$0]?.superclass })
        }
        objectClasses = Set(classes.filter { inherits($0, from: Self.objectRoots) }.map(\.name))
        policyClasses = Set(classes.filter { inherits($0, from: Self.policyRoots) || Self.isPolicy($0) }.map(\.name))
        let policies = policyClasses
        unknownBases = classes.reduce(into: [:]) { bases, declared in
            guard policies.contains(declared.name) else { return }
            let lineage = Self.lineage(of: declared.name) { byName[$0]?.superclass }
            guard let base = lineage.last, byName[base] == nil, !Self.policyRoots.contains(base) else { return }
            bases[declared.name] = base
        }
        var properties: [String: [String: DeclaredProperty]] = [:]
        for type in classes + extensions {
            for property in type.properties { properties[type.name, default: [:]][property.name] = property }
        }
        self.properties = properties
        let isOurs = readers.contains { $0.tokens.imports("Stagecoach") }
        typeNames = Set(readers.flatMap(\.typeNames)).union(skeletons)
            .union(isOurs ? PortTable.words["own", default: []] : [])
        let names = readers.map { ($0.file, SourceNames($0.tokens)) }
        let all = names.map(\.1)
        self.names = Dictionary(names.map { ($0, $1.adding(all)) }, uniquingKeysWith: { first, _ in first })
        methodNames = Set(types.flatMap(\.methods).map(\.name))
    }

    func declares(_ type: String) -> Bool { typeNames.contains(type) }

    func declaresFunction(_ name: String) -> Bool { methodNames.contains(name) }

    /// Tells whether an extension of a type, or of a protocol, declares a member; nil for any type.
    func declaresMember(_ name: String, of type: String?) -> Bool {
        extensions.contains { group in
            (group.name == type ?? group.name || group.name == "NSObject" || !PortTable.knownTypes.contains(group.name))
                && group.declares(name)
        }
    }

    /// Tells whether a class, a superclass of it or an extension of one of them declares a member.
    func declaresInherited(_ name: String, of type: String) -> Bool {
        let lineage = Self.lineage(of: type) { byName[$0]?.superclass }
        return (classes + extensions).contains { lineage.contains($0.name) && $0.declares(name) }
    }

    /// Tells whether a type declares a property of a name.
    func declaresProperty(_ name: String) -> Bool { properties.values.contains { $0[name] != nil } }

    /// Tells whether a class overrides a method of policies: its superclass is then one, wherever it is declared.
    private static func isPolicy(_ declared: DeclaredType) -> Bool {
        declared.superclass != nil
            && declared.methods.contains { $0.isOverride && PolicyMethod.isPolicyMethod($0.name, $0.labels) }
    }

    /// Returns a class and its superclasses, the nearest first; each once, as sources that do not compile may have a cycle.
    static func lineage(of type: String, superclass: (String) -> String?) -> [String] {
        var names: [String] = []
        var current: String? = type
        while let next = current, !names.contains(next) {
            names.append(next)
            current = superclass(next)
        }
        return names
    }

    /// Returns a property of a class or of its superclasses.
    func property(_ name: String, of type: String) -> DeclaredProperty? {
        Self.lineage(of: type) { byName[$0]?.superclass }.lazy.compactMap { properties[$0]?[name] }.first
    }

    /// Returns the key path that key-value coding understands: names given by `@objc(name)` take the place of Swift's.
    ///
    /// - Parameter type: the class of the first name; nil if it is unknown.
    func keyPath(_ names: [String], of type: String?) -> String {
        var type = type
        return names.map { name in
            let property = type.flatMap { self.property(name, of: $0) }
            type = property?.type
            return property?.key ?? name
        }.joined(separator: ".")
    }
}
