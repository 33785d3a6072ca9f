/// Where a run with user code stands in its stages.
struct StagedPosition: Codable, Equatable {
    enum Phase: Int, Codable, Comparable {
        case create, relate, validate, load

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    var phase: Phase
    /// The entity mapping at work; nil: none of the phase has begun, nor what comes before the first.
    var mapping: Int?
    /// Whether that mapping's turn in the phase has begun.
    var hasBegun = false
    /// The last source object that was worked on; nil: none.
    var after: Int64?
    /// Destination objects that were related.
    var related = 0

    /// Where a mapping is to be gone on with: nil where the phase had come past it.
    ///
    /// - Returns: the position itself where the mapping was at work, one at its beginning where its turn has not come.
    static func part(of mapping: Int, in phase: Phase, from start: StagedPosition?) -> StagedPosition? {
        let beginning = StagedPosition(phase: phase, mapping: mapping)
        guard let start else { return beginning }
        guard start.phase == phase else { return start.phase < phase ? beginning : nil }
        guard let current = start.mapping, current >= mapping else { return beginning }
        return current == mapping ? start : nil
    }

    /// What is left of ranges of source keys.
    func rest(of ranges: [SourceKeyRange]) -> [SourceKeyRange] {
        guard let after else { return ranges }
        return ranges.compactMap { range in
            if let through = range.through, through <= after { return nil }
            return SourceKeyRange(after: max(after, range.after ?? after), through: range.through)
        }
    }
}
