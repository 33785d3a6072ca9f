/// A program as the compiler writes it: instructions over registers, and what they refer to.
struct ProgramDraft {
    var instructions: [ProgramInstruction] = []
    var registers = 1
    var constants: [ProgramRegister] = []
    /// By the index of their constant.
    var decimals: [Int: ExactDecimal] = [:]
    var comparisons: [ProgramComparison] = []
    /// What the constants of text and bytes refer to.
    var bytes: [UInt8] = []
    /// Whether a value depends on the row.
    var readsRow = false
    var usesDecimals = false
    /// Whether text is made on the way, which needs an arena.
    var usesScratch = false
}

/// A compiled program. It never changes, so any number of threads may run it.
///
/// A class with its own memory: running it touches no array and counts no references but one, which is most of what a
/// short expression costs. Memory: 12 bytes an instruction, 16 a constant, the constants' bytes, and while it runs 16
/// bytes a register (36 where decimals occur).
final class ProgramCode: @unchecked Sendable {
    let instructions: UnsafeBufferPointer<ProgramInstruction>
    let constants: UnsafeBufferPointer<ProgramRegister>
    let bytes: UnsafeRawBufferPointer
    let decimals: [Int: ExactDecimal]
    let comparisons: [ProgramComparison]
    let registers: Int
    let readsRow: Bool
    let usesDecimals: Bool
    let usesScratch: Bool
    /// Whether many rows may be computed together: see ``FloatingProgram``.
    let isFloating: Bool

    init(_ draft: ProgramDraft) {
        instructions = UnsafeBufferPointer(Self.copy(draft.instructions))
        constants = UnsafeBufferPointer(Self.copy(draft.constants))
        bytes = UnsafeRawBufferPointer(Self.copy(draft.bytes))
        decimals = draft.decimals
        comparisons = draft.comparisons
        registers = draft.registers
        readsRow = draft.readsRow
        usesDecimals = draft.usesDecimals
        usesScratch = draft.usesScratch
        isFloating = FloatingProgram.fits(draft)
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
