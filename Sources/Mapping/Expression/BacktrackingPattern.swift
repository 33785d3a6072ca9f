/// A regular expression with forms that no automaton matches: look-around, back references, atomic groups, possessive
/// quantifiers, word boundaries.
///
/// It tries one way after the other, so a pattern may take time exponential to the text: a match ends with an error after
/// ``maximumSteps`` steps. Nothing recurses but look-around and atomic groups, as deep as they are nested.
/// Memory of a match: four bytes a character, 12 bytes for each way still open, at most ``maximumPending``.
struct BacktrackingPattern: Sendable {
    /// About 0.1 s.
    static let maximumSteps = 3_000_000
    static let maximumPending = 300_000

    fileprivate enum Instruction: Sendable {
        case character(UInt32)
        case any(exceptLineEnds: Bool)
        case set(Int)
        /// Goes on at the first place; the second stays open.
        case split(Int, Int)
        case jump(Int)
        /// Notes the place in the text.
        case save(Int)
        /// Fails where nothing was matched since the place was noted.
        case progress(Int)
        /// The text between the two noted places.
        case backReference(Int)
        case textStart
        case textEnd
        case wordBoundary(isNegated: Bool)
        /// What follows up to the end has to match, or must not, ahead of the place or just before it.
        case look(end: Int, isBehind: Bool, isNegated: Bool)
        case atomic(end: Int)
        /// The end of what a look-around or an atomic group looks for.
        case found
        case accept
    }

    let folding: TextFolding
    private let text: String
    private let dotIsAnything: Bool
    private var code: [Instruction] = []
    private var sets: [TextPattern.CharacterSet] = []
    private let words: TextPattern.CharacterSet
    private var slots: Int

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax`, `expression.unsupported` for forms that are not known.
    init(_ text: String, _ folding: TextFolding) throws(ProgramFault) {
        var parser = RegularExpressionParser(text, backtracks: true)
        let node = try parser.parse()
        self.text = text
        self.folding = parser.ignoresCase ? folding.ignoringCase : folding
        dotIsAnything = parser.dotIsAnything
        words = RegularExpressionParser.shorthand("w") ?? TextPattern.CharacterSet()
        slots = 2 * (parser.groups + 1)
        try emit(node)
        try append(.accept)
    }

    private mutating func append(_ instruction: Instruction) throws(ProgramFault) {
        guard code.count < TextPattern.maximumStates else {
            throw .unsupported("the regular expression needs more than \(TextPattern.maximumStates) states")
        }
        code.append(instruction)
    }

    private mutating func emit(_ node: RegularExpressionNode) throws(ProgramFault) {
        switch node {
        case .literal(let scalar):
            for folded in TextPattern.fold(scalar, folding) { try append(.character(folded)) }
        case .any: try append(.any(exceptLineEnds: !dotIsAnything))
        case .set(var set):
            if folding.ignoresCase { set.addOtherCase() }
            sets.append(set)
            try append(.set(sets.count - 1))
        case .sequence(let nodes): for node in nodes { try emit(node) }
        case .alternatives(let nodes): try emit(alternatives: nodes)
        case .repetition(let inner, let low, let high, let isLazy): try emit(inner, low, high, isLazy: isLazy)
        case .capture(let number, let inner):
            try append(.save(2 * number))
            try emit(inner)
            try append(.save(2 * number + 1))
        case .backReference(let number): try append(.backReference(number))
        case .look(let inner, let isBehind, let isNegated):
            let place = code.count
            try append(.found)
            try emit(inner)
            try append(.found)
            code[place] = .look(end: code.count, isBehind: isBehind, isNegated: isNegated)
        case .atomic(let inner):
            let place = code.count
            try append(.found)
            try emit(inner)
            try append(.found)
            code[place] = .atomic(end: code.count)
        case .textStart: try append(.textStart)
        case .textEnd: try append(.textEnd)
        case .wordBoundary(let isNegated): try append(.wordBoundary(isNegated: isNegated))
        }
    }

    private mutating func emit(alternatives nodes: [RegularExpressionNode]) throws(ProgramFault) {
        var exits: [Int] = []
        for node in nodes.dropLast() {
            let fork = code.count
            try append(.jump(0))
            try emit(node)
            exits.append(code.count)
            try append(.jump(0))
            code[fork] = .split(fork + 1, code.count)
        }
        if let last = nodes.last { try emit(last) }
        for exit in exits { code[exit] = .jump(code.count) }
    }

    private mutating func emit(
        _ inner: RegularExpressionNode, _ low: Int, _ high: Int?, isLazy: Bool
    ) throws(ProgramFault) {
        func fork(_ place: Int, to end: Int) -> Instruction {
            isLazy ? .split(end, place + 1) : .split(place + 1, end)
        }
        for _ in 0..<low { try emit(inner) }
        guard let high else {
            let slot = slots
            slots += 1
            let start = code.count
            try append(.jump(0))
            try append(.save(slot))
            try emit(inner)
            try append(.progress(slot))
            try append(.jump(start))
            code[start] = fork(start, to: code.count)
            return
        }
        var forks: [Int] = []
        for _ in low..<max(low, high) {
            forks.append(code.count)
            try append(.jump(0))
            try emit(inner)
        }
        for place in forks { code[place] = fork(place, to: code.count) }
    }

    // MARK: Matching

    /// A match at work.
    private struct Matching {
        /// A way still open (`slot` −1), or what a slot held before.
        struct Pending {
            let slot: Int32
            let place: Int32
            let position: Int32
        }

        var text: [UInt32] = []
        var slots: [Int32]
        var pending: [Pending] = []
        var steps = 0
    }

    /// Whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Throws: `expression.patternLimit` naming the pattern.
    func matches(_ bytes: UnsafeRawBufferPointer) throws(ProgramFault) -> Bool {
        var matching = Matching(slots: Array(repeating: -1, count: slots))
        func read(_ bytes: UnsafeRawBufferPointer) -> [UInt32] {
            var found: [UInt32] = []
            found.reserveCapacity(bytes.count)
            var iterator = UnicodeBytes(bytes: bytes)
            while let scalar = iterator.next(lowering: folding.ignoresCase) { found.append(scalar) }
            return found
        }
        if !folding.isExact, folding.ignoresDiacritics || bytes.contains(where: { $0 >= 0x80 }) {
            matching.text = folding.foldedByCharacter(bytes).withUnsafeBytes { read($0) }
        } else {
            matching.text = read(bytes)
        }
        return try run(from: 0, at: 0, endingAt: nil, &matching) != nil
    }

    private func limit() -> ProgramFault {
        ProgramFault(
            "expression.patternLimit",
            "the regular expression \(ExpressionConstant.quoted(ExpressionLexer.excerpt(text))) tries more than \(Self.maximumSteps) ways to match a text",
            remedy: "Write it without a repetition inside a repetition, or without look-around and back references")
    }

    /// Runs the code until it accepts or, inside a look-around, has found what it looks for.
    ///
    /// - Parameter end: where what is found has to end; nil: anywhere.
    /// - Returns: where it ended; nil where nothing matches. Slots then are as they were.
    private func run(
        from start: Int, at position: Int, endingAt end: Int?, _ matching: inout Matching
    ) throws(ProgramFault) -> Int? {
        let floor = matching.pending.count
        var place = start
        var position = position
        while true {
            matching.steps += 1
            guard matching.steps <= Self.maximumSteps, matching.pending.count < Self.maximumPending else {
                throw limit()
            }
            var isMatching = true
            switch code[place] {
            case .character, .any, .set:
                isMatching = position < matching.text.count && accepts(place, matching.text[position])
                position += 1
                place += 1
            case .split(let first, let second):
                matching.pending.append(
                    .init(
                        slot: -1, place: Int32(truncatingIfNeeded: second),
                        position: Int32(truncatingIfNeeded: position)))
                place = first
            case .jump(let goal): place = goal
            case .save(let slot):
                matching.pending.append(
                    .init(slot: Int32(truncatingIfNeeded: slot), place: 0, position: matching.slots[slot]))
                matching.slots[slot] = Int32(truncatingIfNeeded: position)
                place += 1
            case .progress(let slot):
                isMatching = Int(matching.slots[slot]) != position
                place += 1
            case .backReference(let number):
                let (from, to) = (Int(matching.slots[2 * number]), Int(matching.slots[2 * number + 1]))
                let length = to - from
                isMatching =
                    from >= 0 && length >= 0 && position + length <= matching.text.count
                    && matching.text[from..<to].elementsEqual(matching.text[position..<(position + length)])
                matching.steps += max(0, length)
                position += max(0, length)
                place += 1
            case .textStart:
                isMatching = position == 0
                place += 1
            case .textEnd:
                isMatching = position == matching.text.count
                place += 1
            case .wordBoundary(let isNegated):
                let before = position > 0 && words.contains(matching.text[position - 1])
                let after = position < matching.text.count && words.contains(matching.text[position])
                isMatching = (before != after) != isNegated
                place += 1
            case .look(let next, let isBehind, let isNegated):
                let mark = matching.pending.count
                isMatching = try look(from: place + 1, at: position, isBehind: isBehind, &matching) != isNegated
                if isNegated { undo(to: mark, &matching) }
                place = next
            case .atomic(let next):
                let found = try run(from: place + 1, at: position, endingAt: nil, &matching)
                isMatching = found != nil
                position = found ?? position
                place = next
            case .found:
                if end == nil || end == position {
                    close(to: floor, &matching)
                    return position
                }
                isMatching = false
            case .accept:
                if position == matching.text.count { return position }
                isMatching = false
            }
            guard !isMatching else { continue }
            guard let open = resume(above: floor, &matching) else { return nil }
            (place, position) = open
        }
    }

    private func look(
        from place: Int, at position: Int, isBehind: Bool, _ matching: inout Matching
    ) throws(ProgramFault) -> Bool {
        guard isBehind else { return try run(from: place, at: position, endingAt: nil, &matching) != nil }
        var start = position
        while start >= 0 {
            if try run(from: place, at: start, endingAt: position, &matching) != nil { return true }
            start -= 1
        }
        return false
    }

    @inline(__always)
    private func accepts(_ place: Int, _ scalar: UInt32) -> Bool {
        switch code[place] {
        case .character(let wanted): return scalar == wanted
        case .any(let exceptLineEnds):
            return !exceptLineEnds
                || !(scalar == 0x0A || scalar == 0x0D || scalar == 0x85 || scalar == 0x2028 || scalar == 0x2029)
        case .set(let index): return sets[index].contains(scalar)
        default: return false
        }
    }

    /// The way left open last; slots become what they were then.
    private func resume(above floor: Int, _ matching: inout Matching) -> (place: Int, position: Int)? {
        while matching.pending.count > floor {
            let last = matching.pending.removeLast()
            if last.slot < 0 { return (Int(last.place), Int(last.position)) }
            matching.slots[Int(last.slot)] = last.position
        }
        return nil
    }

    /// Forgets the ways above a mark and gives slots back what they held.
    private func undo(to mark: Int, _ matching: inout Matching) {
        while matching.pending.count > mark {
            let last = matching.pending.removeLast()
            if last.slot >= 0 { matching.slots[Int(last.slot)] = last.position }
        }
    }

    /// Forgets the ways above a mark; slots keep what they hold, and can still be undone.
    private func close(to mark: Int, _ matching: inout Matching) {
        var kept = mark
        for index in mark..<matching.pending.count where matching.pending[index].slot >= 0 {
            matching.pending[kept] = matching.pending[index]
            kept += 1
        }
        matching.pending.removeLast(matching.pending.count - kept)
    }
}

extension TextPattern {
    /// Whether the pattern matches a whole text.
    ///
    /// - Throws: as ``matches(_:)``.
    func matches(_ text: String) throws(ProgramFault) -> Bool {
        var outcome: Result<Bool, ProgramFault> = .success(false)
        var text = text
        text.withUTF8 { bytes in
            do throws(ProgramFault) {
                outcome = .success(try matches(UnsafeRawBufferPointer(bytes)))
            } catch { outcome = .failure(error) }
        }
        return try outcome.get()
    }
}
