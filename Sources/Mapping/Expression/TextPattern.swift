/// A pattern of LIKE or MATCHES, compiled to a nondeterministic automaton over Unicode characters.
///
/// It matches whole texts in time proportional to text times pattern, whatever the pattern: there is no backtracking.
/// Of regular expressions it knows literals, `.`, classes `[a-z]` `[^a-z]`, `\d \w \s \D \W \S`, escapes, groups
/// `( )` `(?: )`, `|`, `* + ? {n} {n,} {n,m}` with a lazy `?` behind, `^` and `$` at the ends, and `(?i)` in front.
/// What no automaton can do (back references, look-around, `\b`, possessive quantifiers) is left to a matcher that
/// backtracks, at most a bounded number of steps; what neither knows is refused when the pattern is compiled.
///
/// Memory: 16 bytes a state, at most ``maximumStates``, and while it matches two sets of states.
struct TextPattern: Sendable {
    static let maximumStates = 10_000

    enum State: Sendable {
        case character(UInt32)
        /// Any character; a dot leaves line ends out.
        case any(exceptLineEnds: Bool)
        /// A class by its index.
        case set(Int)
        /// Both ways are open.
        case split(Int, Int)
        case jump(Int)
        case accept
    }

    struct CharacterSet: Sendable {
        /// Inclusive ranges.
        var ranges: [(UInt32, UInt32)] = []
        /// General categories whose characters belong to it too.
        var categories: Set<Unicode.GeneralCategory> = []
        /// Classes inside the class.
        var members: [CharacterSet] = []
        /// Classes that a character has to be in as well, and those that it must not be in.
        var required: [CharacterSet] = []
        var excluded: [CharacterSet] = []
        var isInverted = false

        func contains(_ scalar: UInt32) -> Bool { includes(scalar) != isInverted }

        private func includes(_ scalar: UInt32) -> Bool {
            let isMember =
                ranges.contains { $0.0 <= scalar && scalar <= $0.1 }
                || (!categories.isEmpty
                    && Unicode.Scalar(scalar).map { categories.contains($0.properties.generalCategory) } == true)
                || members.contains { $0.contains(scalar) }
            return isMember && required.allSatisfy { $0.contains(scalar) }
                && !excluded.contains { $0.contains(scalar) }
        }
    }

    private(set) var states: [State] = []
    private(set) var sets: [CharacterSet] = []
    private(set) var folding: TextFolding
    private var dotIsAnything = false
    /// Matches instead of the automaton where the pattern has forms that need it.
    private var backtracking: BacktrackingPattern?

    /// Compiles a LIKE pattern: `*` is any text, `?` one character, a backslash takes the meaning of the next away.
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

    /// The characters that a pattern's literal stands for after folding.
    static func fold(_ scalar: Unicode.Scalar, _ folding: TextFolding) -> [UInt32] {
        let bytes = folding.foldedByCharacter(Array(String(Character(scalar)).utf8))
        return String(decoding: bytes, as: UTF8.self).unicodeScalars.map(\.value)
    }

    /// Compiles a regular expression.
    ///
    /// - Throws: `expression.syntax` for what is no regular expression, `expression.unsupported` for what this
    ///   matcher does not do.
    init(regularExpression text: String, _ folding: TextFolding) throws(ProgramFault) {
        var parser = RegularExpressionParser(text)
        let node: RegularExpressionNode
        do { node = try parser.parse() } catch {
            guard error.code == "expression.unsupported" else { throw error }
            let pattern = try BacktrackingPattern(text, folding)
            self.folding = pattern.folding
            backtracking = pattern
            return
        }
        self.folding = parser.ignoresCase ? folding.ignoringCase : folding
        dotIsAnything = parser.dotIsAnything
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
        case .capture(_, let inner): try emit(inner)
        case .backReference, .look, .atomic, .textStart, .textEnd, .wordBoundary:
            throw .unsupported("an automaton cannot match the regular expression")
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
        case .repetition(let inner, let low, let high, _):
            for _ in 0..<low {
                let before = states.count
                try emit(inner)
                // Nothing repeated is nothing; a count of counts of it would never end.
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

    /// Whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Throws: `expression.patternLimit` where a pattern that has to backtrack takes too many steps.
    /// - Complexity: O(text × states) time; two arrays of states on the stack or, for large patterns, the heap.
    func matches(_ bytes: UnsafeRawBufferPointer) throws(ProgramFault) -> Bool {
        if let backtracking { return try backtracking.matches(bytes) }
        if !folding.isExact, folding.ignoresDiacritics || bytes.contains(where: { $0 >= 0x80 }) {
            return folding.foldedByCharacter(bytes).withUnsafeBytes { run($0) }
        }
        return run(bytes)
    }

    private func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = states.count
        // Two lists of live states, the marks of what is already in a list, and a stack of what is to be added.
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
                // The marks are steps; texts are shorter than 4 GiB, so they wrap only once.
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
                || !(scalar == 0x0A || scalar == 0x0D || scalar == 0x85 || scalar == 0x2028 || scalar == 0x2029)
        case .set(let index): sets[index].contains(scalar)
        case .split, .jump, .accept: false
        }
    }

    /// Adds a state and all that can be reached from it without a character.
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
                // Every state is marked once a step and pushes two at most, so the stack holds twice their number.
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

extension TextFolding {
    /// The same, and case is overlooked.
    var ignoringCase: TextFolding {
        TextFolding(ignoresDiacritics ? [.caseInsensitive, .diacriticInsensitive] : .caseInsensitive)
    }
}

extension TextPattern.CharacterSet {
    /// Adds the other case of the ASCII letters and the lower case of what lies beyond: the text is folded too.
    mutating func addOtherCase() {
        for index in members.indices { members[index].addOtherCase() }
        for index in required.indices { required[index].addOtherCase() }
        for index in excluded.indices { excluded[index].addOtherCase() }
        // The text is in lower case where it has cases.
        if !categories.isDisjoint(with: [.uppercaseLetter, .titlecaseLetter]) { categories.insert(.lowercaseLetter) }
        for (low, high) in ranges {
            let (first, last) = (max(low, 0x41), min(high, 0x5A))
            if first <= last { ranges.append((first + 0x20, last + 0x20)) }
            guard high >= 0x80 else { continue }
            for value in max(low, 0x80)...min(high, max(low, 0x80) + 0x2000) {
                guard let scalar = Unicode.Scalar(value) else { continue }
                let lower = scalar.properties.lowercaseMapping.unicodeScalars
                if lower.count == 1, let only = lower.first, only != scalar { ranges.append((only.value, only.value)) }
            }
        }
    }
}

/// The characters of UTF-8 bytes; a damaged sequence gives U+FFFD.
struct UnicodeBytes {
    let bytes: UnsafeRawBufferPointer
    var offset = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

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
