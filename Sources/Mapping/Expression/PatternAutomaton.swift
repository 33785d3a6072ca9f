/// A LIKE pattern or a plain regular expression as a nondeterministic automaton over Unicode characters.
///
/// It does not backtrack: it matches whole texts in time proportional to text times pattern, for every pattern. It supports the
/// regular expressions that ``RegularExpressionParser`` reads; all others are left to ``ICUPattern``.
///
/// Memory: 16 bytes a state, at most ``maximumStates``, and two sets of states during a match.
struct PatternAutomaton: Sendable {
    static let maximumStates = 10_000

    enum State: Sendable {
        case character(UInt32)
        /// Any character. A dot does not match line ends.
        case any(exceptLineEnds: Bool)
        /// A character class, by its index.
        case set(Int)
        /// Continues in both states.
        case split(Int, Int)
        case jump(Int)
        case accept
    }

    /// A character class: inclusive ranges of code points.
    struct CharacterSet: Sendable {
        var ranges: [(UInt32, UInt32)] = []
        var isInverted = false

        func contains(_ scalar: UInt32) -> Bool {
            ranges.contains { $0.0 <= scalar && scalar <= $0.1 } != isInverted
        }

        /// Adds the lower-case forms of the upper-case ASCII letters: the text to match is in lower case.
        mutating func addOtherCase() {
            for (low, high) in ranges {
                let (first, last) = (max(low, 0x41), min(high, 0x5A))
                if first <= last { ranges.append((first + 0x20, last + 0x20)) }
            }
        }
    }

    private(set) var states: [State] = []
    private(set) var sets: [CharacterSet] = []
    private(set) var folding: TextFolding
    private var dotIsAnything = false

    /// Compiles a LIKE pattern: `*` matches any text, `?` one character, and a backslash makes the next character literal.
    init(glob: String, _ folding: TextFolding) throws(ProgramFault) {
        self.folding = folding
        var isEscaped = false
        let scalars = Array(glob.unicodeScalars)
        guard scalars.count <= Self.maximumStates / 3 else { throw .unsupported("the pattern is too long") }
        for scalar in scalars {
            switch scalar {
            case _ where isEscaped:
                isEscaped = false
                append(literal: scalar)
            case "\\": isEscaped = true
            case "?": states.append(.any(exceptLineEnds: false))
            case "*":
                let start = states.count
                states.append(.split(start + 1, start + 3))
                states.append(.any(exceptLineEnds: false))
                states.append(.jump(start))
            default: append(literal: scalar)
            }
        }
        if isEscaped { append(literal: "\\") }
        states.append(.accept)
    }

    private mutating func append(literal scalar: Unicode.Scalar) {
        for folded in Self.fold(scalar, folding) { states.append(.character(folded)) }
    }

    /// Returns the characters that a literal of a pattern matches after folding.
    static func fold(_ scalar: Unicode.Scalar, _ folding: TextFolding) -> [UInt32] {
        let bytes = folding.foldedByCharacter(Array(String(Character(scalar)).utf8))
        return String(decoding: bytes, as: UTF8.self).unicodeScalars.map(\.value)
    }

    /// Compiles a regular expression read by ``RegularExpressionParser``.
    ///
    /// - Throws: `expression.unsupported` if it needs more than ``maximumStates`` states.
    init(_ node: RegularExpressionNode, dotIsAnything: Bool, _ folding: TextFolding) throws(ProgramFault) {
        self.folding = folding
        self.dotIsAnything = dotIsAnything
        try emit(node)
        try append(.accept)
    }

    private mutating func append(_ state: State) throws(ProgramFault) {
        guard states.count < Self.maximumStates else {
            throw .unsupported("the regular expression needs more than \(Self.maximumStates) states")
        }
        states.append(state)
    }

    private mutating func emit(_ node: RegularExpressionNode) throws(ProgramFault) {
        switch node {
        case .literal(let scalar): for folded in Self.fold(scalar, folding) { try append(.character(folded)) }
        case .any: try append(.any(exceptLineEnds: !dotIsAnything))
        case .set(var set):
            if folding.ignoresCase { set.addOtherCase() }
            sets.append(set)
            try append(.set(sets.count - 1))
        case .sequence(let nodes): for node in nodes { try emit(node) }
        case .alternatives(let nodes):
            var exits: [Int] = []
            for (index, node) in nodes.enumerated() {
                guard index < nodes.count - 1 else {
                    try emit(node)
                    break
                }
                let fork = states.count
                try append(.split(fork + 1, 0))
                try emit(node)
                exits.append(states.count)
                try append(.jump(0))
                states[fork] = .split(fork + 1, states.count)
            }
            for exit in exits { states[exit] = .jump(states.count) }
        case .repetition(let inner, let low, let high):
            for _ in 0..<low {
                let before = states.count
                try emit(inner)
                // Repeating an empty expression adds no state. Without this exit, nested counts would run for an unbounded
                // time.
                if states.count == before { break }
            }
            if let high {
                var forks: [Int] = []
                for _ in low..<max(low, high) {
                    forks.append(states.count)
                    try append(.split(states.count + 1, 0))
                    try emit(inner)
                }
                for fork in forks { states[fork] = .split(fork + 1, states.count) }
            } else {
                let fork = states.count
                try append(.split(fork + 1, 0))
                try emit(inner)
                try append(.jump(fork))
                states[fork] = .split(fork + 1, states.count)
            }
        }
    }

    // MARK: Matching

    /// Tells whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Complexity: O(text × states) time; two arrays of states on the stack or, for large patterns, the heap.
    func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if !folding.isExact, folding.ignoresDiacritics || bytes.contains(where: { $0 >= 0x80 }) {
            return folding.foldedByCharacter(bytes).withUnsafeBytes { run($0) }
        }
        return run(bytes)
    }

    private func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = states.count
        // The memory holds two lists of live states, a mark for each state and list, and the stack of states to add.
        return withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * 5 + 1) { memory in
            guard let base = memory.baseAddress else { return false }
            let stack = base + 3 * count
            var current = base
            var next = base + count
            let marks = base + 2 * count
            marks.initialize(repeating: -1, count: count)
            var step: Int32 = 0
            var live = add(0, to: current, 0, marks, step, stack)
            var iterator = UnicodeBytes(bytes: bytes)
            while let scalar = iterator.next(lowering: folding.ignoresCase) {
                guard live > 0 else { return false }
                // The mark of a list is the current step. Texts are shorter than 4 GiB, so the step wraps at most once.
                step = step == Int32.max ? 0 : step + 1
                var reached = 0
                for index in 0..<live {
                    let state = Int(current[index])
                    if accepts(state, scalar) { reached = add(state + 1, to: next, reached, marks, step, stack) }
                }
                swap(&current, &next)
                live = reached
            }
            for index in 0..<live { if case .accept = states[Int(current[index])] { return true } }
            return false
        }
    }

    @inline(__always)
    private func accepts(_ state: Int, _ scalar: UInt32) -> Bool {
        switch states[state] {
        case .character(let wanted): scalar == wanted
        case .any(let exceptLineEnds):
            !exceptLineEnds
                || !(scalar >= 0x0A && scalar <= 0x0D || scalar == 0x85 || scalar == 0x2028 || scalar == 0x2029)
        case .set(let index): sets[index].contains(scalar)
        case .split, .jump, .accept: false
        }
    }

    /// Adds a state and all states reachable from it without reading a character.
    private func add(
        _ first: Int, to list: UnsafeMutablePointer<Int32>, _ count: Int, _ marks: UnsafeMutablePointer<Int32>,
        _ step: Int32, _ stack: UnsafeMutablePointer<Int32>
    ) -> Int {
        var count = count
        var depth = 1
        stack[0] = Int32(truncatingIfNeeded: first)
        while depth > 0 {
            depth -= 1
            let state = Int(stack[depth])
            if marks[state] == step { continue }
            marks[state] = step
            switch states[state] {
            case .split(let one, let other):
                // Each state is marked once a step and pushes at most two, so the stack holds twice the number of states.
                stack[depth] = Int32(truncatingIfNeeded: other)
                stack[depth + 1] = Int32(truncatingIfNeeded: one)
                depth += 2
            case .jump(let goal):
                stack[depth] = Int32(truncatingIfNeeded: goal)
                depth += 1
            default:
                list[count] = Int32(truncatingIfNeeded: state)
                count += 1
            }
        }
        return count
    }
}

/// Iterates over the characters of UTF-8 bytes; a damaged sequence gives U+FFFD.
struct UnicodeBytes {
    let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    @inline(__always)
    mutating func next(lowering: Bool) -> UInt32? {
        guard offset < bytes.count else { return nil }
        let first = bytes[offset]
        offset += 1
        if first < 0x80 { return UInt32(lowering ? TextFolding.lowered(first) : first) }
        let length = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0
        guard length > 0, offset + length <= bytes.count else { return 0xFFFD }
        var value = UInt32(first) & (0x3F >> UInt32(length))
        for index in 0..<length {
            let byte = bytes[offset + index]
            guard byte & 0xC0 == 0x80 else { return 0xFFFD }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        offset += length
        return value
    }
}
