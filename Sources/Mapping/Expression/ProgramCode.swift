import struct Foundation.Decimal

/// A program while it is compiled: instructions over registers, and the tables that they refer to.
struct ProgramDraft {
    var instructions: [ProgramInstruction] = []
    var registers = 1
    var constants: [ProgramRegister] = []
    /// The decimal constants, by their index in ``constants``.
    var decimals: [Int: Decimal] = [:]
    var comparisons: [ProgramComparison] = []
    /// The conversion functions that are called.
    var conversions: [ConversionFunction] = []
    /// The bytes that constants of text and data refer to.
    var bytes: [UInt8] = []
    /// True if a value depends on the row.
    var readsRow = false
    var usesDecimals = false
    /// True if the program may make text or bytes, for which a run needs an arena.
    var usesScratch = false
    /// The register of the first number of which a conversion cuts something off; nil if no conversion can.
    var cutRegister: Int?
}

/// A compiled program. It is immutable, so any number of threads may run it.
///
/// It is a class that owns its memory: a run accesses no array and counts only one reference. Such counting is most of the cost
/// of a short expression. Memory: 12 bytes an instruction, 16 a constant, the constants' bytes, and during a run 16 bytes a
/// register (36 if decimals occur).
final class ProgramCode: @unchecked Sendable {
    let instructions: UnsafeBufferPointer<ProgramInstruction>
    let constants: UnsafeBufferPointer<ProgramRegister>
    let bytes: UnsafeRawBufferPointer
    /// The draft, for all that is no such memory.
    let draft: ProgramDraft
    /// True if many rows may be computed together: see ``FloatingProgram``.
    let isFloating: Bool
    /// The register of the first number of which a conversion cuts something off; -1 if no conversion can.
    let cutRegister: Int

    init(_ draft: ProgramDraft) {
        instructions = UnsafeBufferPointer(Self.copy(draft.instructions))
        constants = UnsafeBufferPointer(Self.copy(draft.constants))
        bytes = UnsafeRawBufferPointer(Self.copy(draft.bytes))
        self.draft = draft
        isFloating = FloatingProgram.fits(draft)
        cutRegister = draft.cutRegister ?? -1
    }

    private static func copy<Element>(_ elements: [Element]) -> UnsafeMutableBufferPointer<Element> {
        let copy = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
        _ = copy.initialize(from: elements)
        return copy
    }

    deinit {
        instructions.deallocate()
        constants.deallocate()
        bytes.deallocate()
    }
}
