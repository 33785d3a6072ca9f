/// The bytes of a program's constants, in one place that does not move.
final class ProgramBytes: @unchecked Sendable {
    // Written in init only, so that any number of threads may read.
    let buffer: UnsafeRawBufferPointer

    init(_ bytes: [UInt8]) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        copy.copyBytes(from: bytes)
        buffer = UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])
        storage = copy
    }

    private let storage: UnsafeMutableRawBufferPointer

    deinit { storage.deallocate() }
}

/// A compiled program: instructions over registers, and what they refer to.
///
/// Memory: 16 bytes an instruction, the constants, and while it runs 16 bytes a register (36 where decimals occur).
struct ProgramCode: Sendable {
    var instructions: [ProgramInstruction] = []
    var registers = 1
    var constants: [ProgramRegister] = []
    var decimals: [Int: ExactDecimal] = [:]
    var comparisons: [ProgramComparison] = []
    var bytes = ProgramBytes([])
    /// Whether a value depends on the row.
    var readsRow = false
    var usesDecimals = false
    /// Whether text is made on the way, which needs an arena.
    var usesScratch = false
}
