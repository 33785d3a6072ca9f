import Diagnostics
import ManagedModel
import PersistentStore

extension VerificationReport {
    /// Destination objects by how they were compared.
    public struct Compared: Sendable, Codable, Equatable {
        /// By entity, in the order of their names; entities without objects are left out.
        public var entities: [Coverage] = []
        /// Objects that are not there and were taken for rejected, since no reject file says which objects were.
        public var takenForRejected = 0

        /// Objects of the destination, those that were passed over included.
        public var objects: Int { entities.reduce(0) { $0 + $1.objects } }
        /// Objects that were worked out again from the source.
        public var recomputed: Int { entities.reduce(0) { $0 + $1.recomputed } }
        /// Objects that were compared with what the policies made when they ran again.
        public var rerun: Int { entities.reduce(0) { $0 + $1.rerun } }
        /// Objects that were checked against the model's rules only.
        public var checked: Int { entities.reduce(0) { $0 + $1.checked } }
        /// Objects that were not looked at.
        public var passedOver: Int { entities.reduce(0) { $0 + $1.passedOver } }

        private enum Key: String, CodingKey {
            case objects, recomputed, rerun, checked, passedOver, takenForRejected, entities
        }

        init() {}

        /// Decodes what ``encode(to:)`` writes; the sums follow from the entities.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            entities = try container.decode([Coverage].self, forKey: .entities)
            takenForRejected = try container.decode(Int.self, forKey: .takenForRejected)
        }

        /// Encodes the entities and their sums.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(objects, forKey: .objects)
            try container.encode(recomputed, forKey: .recomputed)
            try container.encode(rerun, forKey: .rerun)
            try container.encode(checked, forKey: .checked)
            try container.encode(passedOver, forKey: .passedOver)
            try container.encode(takenForRejected, forKey: .takenForRejected)
            try container.encode(entities, forKey: .entities)
        }
    }

    /// How the objects of a destination entity were compared.
    public struct Coverage: Sendable, Codable, Equatable {
        /// The destination entity.
        public var entity: String
        /// The entity mappings into the entity, in order.
        public var mappings: [String]
        /// Objects that were worked out again from the source, and compared.
        public var recomputed = 0
        /// Objects that were compared with what the policies made when they ran again.
        public var rerun = 0
        /// Objects that nothing gives again: checked against the model's rules only.
        public var checked = 0
        /// Objects that were not looked at: they stood in the destination before, or nothing tells that they did not.
        public var passedOver = 0
        /// Why objects are among `rerun` and `checked`: words that go on after "because". Nil where none are, or where
        /// nothing that the migration does makes them.
        public var reason: String?

        /// All of them.
        public var objects: Int { recomputed + rerun + checked + passedOver }
    }
}

/// Counts the objects of a destination by how they are compared.
struct VerificationCoverage {
    private let model: ManagedObjectModel
    private let mappings: [VerifiedMapping]
    /// By entity index.
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

    /// Counts an object.
    mutating func count(_ entity: EntityDescription, _ way: WritableKeyPath<VerificationReport.Coverage, Int>) {
        lines[entity.index][keyPath: way] += 1
    }

    /// Counts an object that no mapping gives again.
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
