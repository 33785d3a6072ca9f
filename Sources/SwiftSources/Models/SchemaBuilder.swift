import Diagnostics
import ManagedModel
import SwiftTokens

/// Derives the model of a version from its classes.
struct SchemaBuilder {
    /// The number of classes that are derived in all trials together.
    private static let greatestWork = 1 << 17

    private let schema: SchemaDeclaration
    private var classes: [ClassModel] = []
    private var pairs: InversePairs
    private let known: [KnownHashes]

    /// The reason why the classes cannot be read.
    private var problem: MigrationError?

    /// Reads the classes of a version, and those that they reach by relationships, and decides what the known hashes decide.
    init(_ schema: SchemaDeclaration, _ resolver: TypeResolver, known: [KnownHashes]) {
        (self.schema, self.known) = (schema, known)
        do throws(MigrationError) { classes = try Self.classes(of: schema, resolver) } catch { problem = error }
        pairs = InversePairs(classes)
        decideByHashes()
    }

    /// - Throws: `swift.schema`, `swift.twoClasses`, and the errors of ``ClassReader/read(_:_:)`` (78).
    private static func classes(
        of schema: SchemaDeclaration, _ resolver: TypeResolver
    ) throws(MigrationError) -> [ClassModel] {
        if let entry = schema.unknown.first {
            throw schema.place.refusal(
                "swift.schema",
                "The list of models names no class with @Model that the sources declare, or several: \(entry)",
                remedy: SourceRemedy.type)
        }
        guard !schema.classes.isEmpty else {
            throw schema.place.refusal(
                "swift.schema", "\(schema.name) lists no models that can be read",
                remedy: "Write them as [A.self, B.self]; or " + SourceRemedy.store)
        }
        var queue = schema.classes
        var reached: [String: TypeScope] = [:]
        var classes: [ClassModel] = []
        while !queue.isEmpty {
            let scope = queue.removeFirst()
            if let other = reached[scope.name] {
                if other === scope { continue }
                throw scope.place.refusal(
                    "swift.twoClasses",
                    "\(schema.name) has two classes of the name \(scope.name): \(other.place) and \(scope.place)",
                    remedy:
                        "Name the files or folders of one target only; relationships of a version lead to its own classes"
                )
            }
            reached[scope.name] = scope
            let model = try ClassReader.read(scope, resolver)
            classes.append(model)
            queue += model.links.map(\.destination) + (model.parent.map { [$0] } ?? [])
        }
        return classes
    }

    /// Decides pairs of relationships without `inverse:`, and attributes of unknown types, by the known hashes.
    private mutating func decideByHashes() {
        var work = Self.greatestWork
        for index in classes.indices {
            let entity = classes[index].entity.name
            let wanted = known.reduce(into: Set()) { $0.formUnion($1.hashes(of: entity)) }
            let isOpen = pairs.open.keys.contains { $0.entity == entity } || !classes[index].unknown.isEmpty
            let trials = wanted.isEmpty || !isOpen ? [] : self.trials(of: index)
            work -= trials.count * classes.count
            let trial = trials.first { trial in
                guard work > 0, let model = try? trial.model() else { return false }
                return VersionHash.entityHashes(of: model)[entity]?.bytes.map(wanted.contains) == true
            }
            if let trial { self = trial }
        }
    }

    /// Returns the version in each reading of a class.
    private func trials(of index: Int) -> [SchemaBuilder] {
        let readings = pairs.readings(of: classes[index].entity.name)
        return classes[index].readings.flatMap { reading in
            readings.map { inverses in
                var trial = self
                trial.classes[index] = reading
                trial.pairs.decide(inverses)
                return trial
            }
        }
    }

    /// Decides pairs as a hash did in another version, where they are written alike.
    ///
    /// - Parameter decided: the inverse by form; nil for none.
    mutating func decide(by decided: [String: InversePairs.Key?]) {
        for (key, candidates) in pairs.open.sorted(by: { $0.key < $1.key }) {
            guard pairs.open[key] != nil, let form = pairs.forms[key], let inverse = decided[form] else { continue }
            if let inverse { guard candidates.contains(inverse) else { continue } }
            pairs.decide([(key, inverse)])
        }
    }

    /// The decisions, for the other versions.
    var decided: [String: InversePairs.Key?] {
        var decided: [String: InversePairs.Key?] = [:]
        for (key, form) in pairs.forms where pairs.open[key] == nil { decided[form] = .some(pairs.inverses[key]) }
        return decided
    }

    /// Returns the version with its model, or with the reason why there is none.
    func version() -> SourceModelVersion {
        var standings: [String: EntityStanding] = [:]
        let result: Result<ManagedObjectModel, MigrationError>
        do throws(MigrationError) {
            if let problem { throw problem }
            try checkPairs()
            let model = try model()
            for (name, hash) in VersionHash.entityHashes(of: model) {
                let origin = hash.bytes.flatMap { bytes in known.first { $0.hashes(of: name).contains(bytes) }?.origin }
                standings[name] = origin.map(EntityStanding.equal(to:)) ?? .unchecked
            }
            try checkDoubts(standings)
            result = .success(model)
        } catch { result = .failure(error) }
        var version = SourceModelVersion(
            name: schema.name, identifier: schema.identifier, place: schema.place, model: result)
        version.standings = standings
        version.doubts = classes.flatMap(\.doubts)
        for model in classes {
            version.places[model.entity.name] = model.scope.place
            for (property, text) in model.expressions { version.expressions["\(model.entity.name).\(property)"] = text }
        }
        return version
    }

    private func place(of key: InversePairs.Key) -> SourcePlace? {
        classes.lazy.compactMap { model in model.links.first { model.key($0) == key }?.place }.first
    }

    private func checkPairs() throws(MigrationError) {
        if let key = pairs.broken.first, let place = place(of: key) {
            throw place.refusal(
                "swift.inverse", "The inverse of \(key) is no relationship of its destination",
                remedy: "Correct inverse:", entity: key.entity, property: key.property)
        }
        guard let (key, candidates) = pairs.open.min(by: { $0.key < $1.key }), let place = place(of: key) else {
            return
        }
        let others = candidates.map { other in "\(other) (\(self.place(of: other)?.description ?? ""))" }
        throw place.refusal(
            "swift.openInverse",
            "\(key) may have the inverse \(others.joined(separator: " or ")), or none: neither side has inverse:, and no hash at hand decides it",
            remedy: "Name a store of that version with --like, or write inverse: where the app's model has it",
            entity: key.entity, property: key.property)
    }

    /// Refuses what no known store shows, unless the entity's hash agrees.
    private func checkDoubts(_ standings: [String: EntityStanding]) throws(MigrationError) {
        let doubts = classes.lazy.flatMap(\.doubts).filter { standings[$0.entity] == .unchecked }
        if let refusal = doubts.compactMap(\.refusal).first { throw refusal }
    }

    private func model() throws(MigrationError) -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.versionIdentifiers = schema.identifier.map { [$0] } ?? []
        for model in classes.sorted(by: { $0.entity.name < $1.entity.name }) {
            var entity = model.entity
            entity.relationships = model.links.map { link in
                var relationship = link.definition
                relationship.inverseName = pairs.inverses[model.key(link)]?.property
                return relationship
            }
            let names = Self.add(model.composites, of: entity.name, to: &definition.composites)
            for index in entity.attributes.indices {
                if let name = entity.attributes[index].compositeName {
                    entity.attributes[index].compositeName = names[name]
                }
            }
            definition.entities.append(entity)
        }
        definition.configurations = ["default": definition.entities.map(\.name)]
        definition.hashesCompositesFlat = definition.composites.values.joined().contains { $0.type == .composite }
        do throws(MigrationError) { return try ManagedObjectModel(definition) } catch {
            let place = classes.first { $0.entity.name == error.context.entity }?.scope.place ?? schema.place
            throw error.inside(.init(path: place.file, line: place.line))
        }
    }

    /// Adds the composites of an entity under the names that the reader of archives gives them: that of the first attribute of
    /// each form.
    ///
    /// - Returns: the new names.
    private static func add(
        _ own: [String: [AttributeDefinition]], of entity: String, to all: inout [String: [AttributeDefinition]]
    ) -> [String: String] {
        var names: [String: String] = [:]
        // Those inside others come first: the others name them.
        func depth(_ path: String) -> Int { path.count { $0 == "." } }
        for (path, members) in own.sorted(by: { (depth($1.key), $0.key) < (depth($0.key), $1.key) }) {
            var elements = members
            for index in elements.indices {
                if let inner = elements[index].compositeName { elements[index].compositeName = names[inner] }
            }
            var candidate = path.split(separator: ".").last.map(String.init) ?? path
            var number = 0
            while let known = all[candidate], known != elements {
                candidate = "\(entity)_\(path.replacing(".", with: "_"))" + (number == 0 ? "" : "\(number)")
                number += 1
            }
            all[candidate] = elements
            names[path] = candidate
        }
        return names
    }
}
