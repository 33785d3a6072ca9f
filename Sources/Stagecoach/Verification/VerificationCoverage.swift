import ManagedModel

extension VerificationReport {
    /// Counts of destination objects by the way in which they were compared.
    public struct Compared: Sendable, Codable, Equatable {
        /// The counts by entity, sorted by name; entities without objects are left out.
        public var entities: [Coverage] = []
        /// Missing objects that are assumed to be rejected, because no reject file tells which objects were.
        public var takenForRejected = 0

        /// The number of objects in the destination, including those that were passed over.
        public var objects: Int { entities.reduce(0) { $0 + $1.objects } }
        /// Objects that were worked out again from the source.
        public var recomputed: Int { entities.reduce(0) { $0 + $1.recomputed } }
        /// Objects that were compared with the results of a second run of the policies.
        public var rerun: Int { entities.reduce(0) { $0 + $1.rerun } }
        /// Objects that were only checked against the model's rules.
        public var checked: Int { entities.reduce(0) { $0 + $1.checked } }
        /// Objects that were not compared.
        public var passedOver: Int { entities.reduce(0) { $0 + $1.passedOver } }

        private enum Key: String, CodingKey {
            case objects, recomputed, rerun, checked, passedOver, takenForRejected, entities
        }

        init() {}

        /// Decodes the counts by entity; the sums follow from them.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            entities = try container.decode([Coverage].self, forKey: .entities)
            takenForRejected = try container.decode(Int.self, forKey: .takenForRejected)
        }

        /// Encodes the entities and their sums.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            let counts: [(Key, Int)] = [
                (.objects, objects), (.recomputed, recomputed), (.rerun, rerun), (.checked, checked),
                (.passedOver, passedOver), (.takenForRejected, takenForRejected),
            ]
            for (key, count) in counts { try container.encode(count, forKey: key) }
            try container.encode(entities, forKey: .entities)
        }
    }

    /// The counts of one destination entity.
    public struct Coverage: Sendable, Codable, Equatable {
        /// The destination entity.
        public var entity: String
        /// The entity mappings into the entity, in order.
        public var mappings: [String]
        /// Objects that were worked out again from the source, and compared.
        public var recomputed = 0
        /// Objects that were compared with the results of a second run of the policies.
        public var rerun = 0
        /// Objects that cannot be made again: only checked against the model's rules.
        public var checked = 0
        /// Objects that were not compared: they existed before the run, or it is not known whether they did.
        public var passedOver = 0
        /// The reason why objects are among `rerun` and `checked`, in words that follow "because". Nil if there are
        /// none, or if no part of the migration makes them.
        public var reason: String?

        /// The number of objects.
        public var objects: Int { recomputed + rerun + checked + passedOver }
    }
}

/// Counts the objects of a destination by the way in which they are compared.
struct VerificationCoverage {
    private let model: ManagedObjectModel
    private let mappings: [VerifiedMapping]
    /// The counts by entity index.
    private var lines: [VerificationReport.Coverage]

    init(_ model: ManagedObjectModel, _ mappings: [VerifiedMapping]) {
        self.model = model
        self.mappings = mappings
        lines = model.entities.map { entity in
            VerificationReport.Coverage(
                entity: entity.definition.name,
                mappings: mappings.filter { $0.destination?.index == entity.index }.map(\.name))
        }
    }

    /// Counts objects.
    mutating func count(
        _ entity: EntityDescription, _ way: WritableKeyPath<VerificationReport.Coverage, Int>, _ number: Int
    ) {
        lines[entity.index][keyPath: way] += number
    }

    /// Counts an object that no mapping lets work out again.
    mutating func count(
        _ entity: EntityDescription, _ way: WritableKeyPath<VerificationReport.Coverage, Int>, because obstacle: String?
    ) {
        lines[entity.index][keyPath: way] += 1
        if lines[entity.index].reason == nil { lines[entity.index].reason = reason(entity, obstacle) }
    }

    private func reason(_ entity: EntityDescription, _ obstacle: String?) -> String? {
        let makers = mappings.filter { $0.mapping.hasPolicy }
        let isMappedTo = mappings.contains { $0.destination == entity }
        if makers.contains(where: { $0.destination == entity }) || !isMappedTo && !makers.isEmpty {
            return "a policy made them"
        }
        guard let obstacle else { return makers.isEmpty ? nil : "a policy made them" }
        let isShared = makers.contains { $0.destination?.root == entity.root }
        return isShared ? "their keys follow on those of objects that a policy made" : obstacle
    }

    var entities: [VerificationReport.Coverage] {
        lines.filter { $0.objects > 0 }.sorted { $0.entity < $1.entity }
    }
}
