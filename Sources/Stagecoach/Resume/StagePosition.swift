/// The position of a run with user code in its stages.
struct StagePosition: Codable, Equatable {
    enum Phase: Int, Codable, Comparable {
        case create, relate, validate, load

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    var phase: Phase
    /// The index of the current entity mapping; nil if the phase has not reached its first mapping, nor the work before it.
    var mapping: Int?
    /// True if the current mapping has begun in this phase.
    var hasBegun = false
    /// The key of the last source object that was processed; nil if none.
    var after: Int64?
    /// The number of destination objects that were related.
    var related = 0

    /// Returns the position from which a mapping resumes in a phase.
    ///
    /// - Returns: the position itself if the mapping was the current one, a position at the mapping's beginning if it had not
    ///   begun, and nil if the phase had passed it.
    static func part(of mapping: Int, in phase: Phase, from start: StagePosition?) -> StagePosition? {
        let beginning = StagePosition(phase: phase, mapping: mapping)
        guard let start else { return beginning }
        guard start.phase == phase else { return start.phase < phase ? beginning : nil }
        guard let current = start.mapping, current >= mapping else { return beginning }
        return current == mapping ? start : nil
    }

    /// Returns the parts of ranges of source keys that are not processed yet.
    func rest(of ranges: [SourceKeyRange]) -> [SourceKeyRange] {
        guard let after else { return ranges }
        return ranges.compactMap { range in
            if let through = range.through, through <= after { return nil }
            return SourceKeyRange(after: max(after, range.after ?? after), through: range.through)
        }
    }
}
