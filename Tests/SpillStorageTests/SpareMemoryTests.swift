import SpillStorage
import Testing

@Suite("Memory that one user leaves to the next") struct SpareMemoryTests {
    @Test(
        "What is left is taken once; a second piece goes to the system",
        arguments: [5000, 1 << 19, LargeMemory.hugePage])
    func leaving(_ byteCount: Int) {
        let spare = SpareMemory(byteCount: byteCount)
        #expect(spare.takeLeft() == nil)
        let first = spare.take()
        let second = spare.take()
        #expect(first != second)
        #expect(UInt(bitPattern: first) % 4096 == 0 && UInt(bitPattern: second) % 4096 == 0)
        // All of it can be written.
        first.initializeMemory(as: UInt8.self, repeating: 1, count: byteCount)
        second.initializeMemory(as: UInt8.self, repeating: 2, count: byteCount)
        #expect(first.load(fromByteOffset: byteCount - 1, as: UInt8.self) == 1)
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
