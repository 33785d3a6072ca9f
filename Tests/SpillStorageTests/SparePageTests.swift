import SpillStorage
import Testing

@Suite("The huge page that one user leaves to the next") struct SparePageTests {
    @Test("What is left is taken once; a second one goes to the system") func leaving() {
        let spare = SparePage()
        #expect(spare.takeLeft() == nil)
        let first = spare.take()
        let second = spare.take()
        #expect(first != second)
        // All of it can be written.
        first.initializeMemory(as: UInt8.self, repeating: 1, count: LargeMemory.hugePage)
        second.initializeMemory(as: UInt8.self, repeating: 2, count: LargeMemory.hugePage)
        #expect(first.load(fromByteOffset: LargeMemory.hugePage - 1, as: UInt8.self) == 1)
        spare.leave(first)
        spare.leave(second)
        #expect(spare.takeLeft() == first)
        #expect(spare.takeLeft() == nil)
        spare.leave(first)
        #expect(spare.take() == first)
        spare.leave(first)
        spare.release()
        #expect(spare.takeLeft() == nil)
    }
}
