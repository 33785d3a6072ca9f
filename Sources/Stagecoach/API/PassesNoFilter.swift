import Diagnostics

/// Source objects of one entity that pass no filter of its entity mappings, and so become nothing. An entity with a single entity
/// mapping has none: its filter is meant.
public struct PassesNoFilter: Sendable, Codable, Equatable {
    /// The source entity.
    public var entity: String
    /// The number of objects that pass no filter; nil if they are not counted, because only a run can evaluate the filters.
    public var objects: Int?
    /// The first of them, `Entity/p<key>`, at most five.
    public var samples: [String]
    /// True if they are meant to become nothing: the mapping model's `losses`, or ``MigrationOptions/allowedLosses``, name the
    /// entity. Nil otherwise.
    public var isMeant: Bool?
    /// True if the run was told that data may stay behind. Then there is no warning. Nil otherwise.
    public var isAllowed: Bool?

    /// True if objects certainly become nothing that nobody meant to lose.
    public var isLost: Bool { objects ?? 0 > 0 && isMeant != true }

    /// The line as a sentence without a full stop: `1 Task passes no filter and becomes nothing (Task/p3)`.
    public var sentence: String {
        guard let objects else {
            return "Whether every \(entity) passes one of its filters is not counted: only objects can answer them"
        }
        let first = samples.joined(separator: ", ") + (objects > samples.count ? ", …" : "")
        let purpose = isMeant == true ? ", on purpose" : ""
        return objects == 1
            ? "1 \(entity) passes no filter and becomes nothing\(purpose) (\(first))"
            : "\(objects.grouped) \(entity) pass no filter and become nothing\(purpose) (\(first))"
    }
}
