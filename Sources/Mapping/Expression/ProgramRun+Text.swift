import Diagnostics
import Foundation
import Rows

extension ProgramRun {
    // MARK: Predicates

    /// Returns AND or OR in three-valued logic, where unknown decides nothing.
    func logic(_ step: ProgramInstruction, _ a: ProgramRegister, _ b: ProgramRegister) -> ProgramRegister {
        let decisive: Int64 = step.operation == .and ? 0 : 1
        if !a.isNull, a.integerValue == decisive { return a }
        if !b.isNull, b.integerValue == decisive { return b }
        return a.isNull ? a : b
    }

    /// Returns the result of a comparison with a nil operand.
    private func comparedWithNil(
        _ comparison: ProgramComparison, _ a: ProgramRegister, _ b: ProgramRegister
    ) -> ProgramRegister {
        if comparison.isThreeValued { return ProgramRegister() }
        switch comparison.comparison {
        case .equal: return .truth(a.isNull && b.isNull)
        case .notEqual: return .truth(a.isNull != b.isNull)
        default: return .truth(false)
        }
    }

    /// Returns the result of a comparison of two values.
    func compare(_ step: ProgramInstruction, _ a: ProgramRegister, _ b: ProgramRegister) -> ProgramRegister {
        let comparison = code.draft.comparisons[Int(step.n)]
        if a.isNull || b.isNull { return comparedWithNil(comparison, a, b) }
        let found: Int?
        switch step.operation {
        case .compareNumbers: found = order(a, step.a, b, step.b)
        case .compareReferences: found = a.bits == b.bits && a.length == b.length ? 0 : 1
        default:
            let (left, right) = (bytes(a), bytes(b))
            if step.operation == .search {
                return .truth(TextSearch.finds(left, comparison.comparison, right, comparison.folding))
            }
            found = TextSearch.order(left, right, comparison.folding)
        }
        return .truth(comparison.comparison.holds(found))
    }

    /// Evaluates LIKE, MATCHES, and IN with a list of constants.
    func test(_ step: ProgramInstruction, _ a: ProgramRegister) throws(ProgramFault) -> ProgramRegister {
        let comparison = code.draft.comparisons[Int(step.n)]
        if a.isNull { return comparison.isThreeValued ? a : .truth(false) }
        if let pattern = comparison.pattern { return .truth(try pattern.matches(bytes(a))) }
        if a.kind == .integer {
            let wanted = a.integerValue
            return .truth(comparison.integers.binarySearch { $0 < wanted ? -1 : $0 == wanted ? 0 : 1 })
        }
        func isListed(_ wanted: UnsafeRawBufferPointer) -> Bool {
            comparison.texts.binarySearch { text in text.withUnsafeBytes { TextSearch.order($0, wanted) } }
        }
        if comparison.folding.isExact { return .truth(isListed(bytes(a))) }
        return .truth(comparison.folding.folded(bytes(a)).withUnsafeBytes(isListed))
    }

    // MARK: Making text

    /// Reserves bytes at the end of the arena and returns them with the register that refers to them.
    private func reserve(
        _ count: Int
    ) throws(ProgramFault) -> (space: UnsafeMutableRawPointer, register: ProgramRegister) {
        guard let scratch, let length = UInt32(exactly: count) else {
            throw .overflow("a text of \(count) bytes")
        }
        let offset = UInt64(scratch.pointee.arenaCount)
        return (scratch.pointee.reserve(count), ProgramRegister(bits: offset, length: length, kind: .scratchBytes))
    }

    /// Copies the UTF-8 bytes of a text to the scratch arena. Returns the register that refers to them.
    func made(_ text: String) throws(ProgramFault) -> ProgramRegister { try stored(Array(text.utf8)) }

    /// Stores bytes that were built on the heap.
    func stored(_ bytes: [UInt8]) throws(ProgramFault) -> ProgramRegister {
        let (space, register) = try reserve(bytes.count)
        bytes.withUnsafeBytes { if let base = $0.baseAddress { space.copyMemory(from: base, byteCount: $0.count) } }
        return register
    }

    func concatenation(_ step: ProgramInstruction) throws(ProgramFault) -> ProgramRegister {
        let first = Int(step.a)
        var count = 0
        for index in first..<first + Int(step.n) {
            if registers[index].isNull { return registers[index] }
            count += Int(registers[index].length)
        }
        let (space, register) = try reserve(count)
        var offset = 0
        for index in first..<first + Int(step.n) {
            // Read only now, because reserving may have moved the arena.
            let part = bytes(registers[index])
            if let base = part.baseAddress, part.count > 0 {
                (space + offset).copyMemory(from: base, byteCount: part.count)
                offset += part.count
            }
        }
        return register
    }

    func changingCase(_ a: ProgramRegister, toUpper: Bool) throws(ProgramFault) -> ProgramRegister {
        if !bytes(a).allSatisfy({ $0 < 0x80 }) {
            let text = String(decoding: bytes(a), as: UTF8.self)
            return try made(toUpper ? text.uppercased() : text.lowercased())
        }
        let (space, register) = try reserve(Int(a.length))
        let from = bytes(a)
        let to = space.assumingMemoryBound(to: UInt8.self)
        for index in 0..<from.count {
            to[index] = toUpper ? TextFolding.raised(from[index]) : TextFolding.lowered(from[index])
        }
        return register
    }

    /// Returns the length of a text in UTF-16 units, as NSString counts.
    func units(_ text: UnsafeRawBufferPointer) -> Int {
        // A continuation byte counts 0, the first byte of a four-byte character 2 (a surrogate pair), every other byte 1.
        var count = 0
        for byte in text { count += byte & 0xC0 == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1 }
        return count
    }

    // MARK: Casts

    func textCast(_ step: ProgramInstruction, _ a: ProgramRegister) throws(ProgramFault) -> ProgramRegister {
        switch step.operation {
        case .wholeToText: return try made(String(a.integerValue))
        case .decimalToText: return try made(decimals[Int(step.a)].description)
        case .realToText:
            return try made(a.isFloat ? FloatingText.text(Float(a.realValue)) : FloatingText.text(a.realValue))
        case .uuidToText:
            let blob = bytes(a)
            guard blob.count == 16 else { throw .range("of \(blob.count) bytes", "UUID") }
            var uuid = UUID().uuid
            withUnsafeMutableBytes(of: &uuid) { $0.copyMemory(from: blob) }
            return try made(UUID(uuid: uuid).uuidString)
        case .textToUUID:
            let text = String(decoding: bytes(a), as: UTF8.self)
            guard let uuid = UUID(uuidString: text) else { throw .notA("UUID", text) }
            let (space, register) = try reserve(16)
            withUnsafeBytes(of: uuid.uuid) {
                space.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(space), byteCount: 16)
            }
            return register
        case .textToReal:
            let text = String(decoding: bytes(a), as: UTF8.self)
            guard let value = Double(text), value.isFinite else { throw .notA("number", text) }
            return .real(value)
        default:
            let text = String(decoding: bytes(a), as: UTF8.self)
            guard let value = Decimal(exactText: text) else { throw .notA("number", text) }
            return decimal(value, into: step.d)
        }
    }
}

extension ComparisonOperator {
    /// Tells whether the comparison holds for the order of two values; nil if they have no order.
    func holds(_ order: Int?) -> Bool {
        guard let order else { return self == .notEqual }
        return switch self {
        case .lessThan: order < 0
        case .lessThanOrEqual: order <= 0
        case .greaterThan: order > 0
        case .greaterThanOrEqual: order >= 0
        case .equal: order == 0
        case .notEqual: order != 0
        default: false
        }
    }
}

extension Array {
    /// Tells whether a sorted array holds an element. The closure orders an element against the wanted one.
    fileprivate func binarySearch(_ order: (Element) -> Int) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            let found = order(self[middle])
            if found == 0 { return true }
            if found < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
