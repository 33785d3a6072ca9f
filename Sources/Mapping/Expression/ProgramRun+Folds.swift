import Diagnostics
import Rows

import struct Foundation.Decimal

extension ProgramRun {
    /// Runs a predicate's program and tells whether the predicate holds. Unknown counts as false.
    static func truth(
        _ code: ProgramCode, _ source: borrowing RowBatch, row: Int
    ) throws(ProgramFault) -> Bool {
        let value = try evaluate(code, source, row: row, decimal: nil)
        return !value.isNull && value.integerValue != 0
    }

    /// Runs a program whose value is not text.
    static func evaluate(
        _ code: ProgramCode, _ source: borrowing RowBatch, row: Int, decimal: UnsafeMutablePointer<Decimal>?
    ) throws(ProgramFault) -> ProgramRegister {
        guard code.draft.usesScratch else {
            return try evaluate(code, source, row: row, scratch: nil, decimal: decimal)
        }
        // Few programs make text on the way to a number or a Boolean, so an arena for each row is affordable.
        var arena = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 256)
        return try withUnsafeMutablePointer(to: &arena) { arena throws(ProgramFault) in
            try evaluate(code, source, row: row, scratch: arena, decimal: decimal)
        }
    }

    /// Reads a fold that ``CollectionFoldProgram/store(_:into:row:slot:)`` wrote.
    func loadFold(_ step: ProgramInstruction) throws(ProgramFault) -> ProgramRegister {
        let cell = source.pointee[row, Int(step.n)]
        switch cell.kind {
        case .integer: return .integer(cell.integerValue)
        case .real: return .real(cell.realValue)
        case .text:
            let text = String(decoding: source.pointee.bytes(cell), as: UTF8.self)
            return decimal(Decimal(exactText: text) ?? .nan, into: step.d)
        case .blob: throw ProgramFault(foldFailure: source.pointee.bytes(cell))
        case .null, .absent, .rawRecord, .reference: return ProgramRegister()
        case .huge: preconditionFailure("a huge value is only copied")
        }
    }
}

extension ProgramFault {
    /// The failure encoded as the bytes of a cell, so that it is thrown only if the value is used.
    var foldFailure: [UInt8] {
        [code.rawValue, message, remedy ?? ""].map { Array($0.utf8) }.joined(separator: [0]).map { $0 }
    }

    convenience init(foldFailure bytes: UnsafeRawBufferPointer) {
        let parts = bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let remedy = parts.count > 2 && !parts[2].isEmpty ? parts[2] : nil
        self.init(
            MigrationError.Code(rawValue: parts.first ?? "value.type"), parts.count > 1 ? parts[1] : "", remedy: remedy)
    }
}
