import Diagnostics
import Synchronization
import Testing

@testable import DatabasePages

@Suite("Writes that go on beside the filling of pages") struct StreamWriterTests {
    @Test("Writes come one at a time, in order, and are done when they were waited for", arguments: [0, 1 << 30])
    func order(threshold: Int) throws {
        let written = Mutex<[Int]>([])
        let isBusy = Atomic<Bool>(false)
        let stream = StreamWriter(from: threshold) { bytes, place throws(MigrationError) in
            precondition(!isBusy.exchange(true, ordering: .sequentiallyConsistent), "two writes at once")
            written.withLock { $0.append(place + Int(bytes[0])) }
            isBusy.store(false, ordering: .sequentiallyConsistent)
        }
        let buffers = (0..<2).map { _ in UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 8) }
        defer { for buffer in buffers { buffer.deallocate() } }
        for number in 0..<100 {
            // The buffer before the last one is free.
            buffers[number % 2][0] = UInt8(number)
            try stream.begin(UnsafeRawBufferPointer(buffers[number % 2]), at: number * 1000)
        }
        try stream.wait()
        #expect(stream.underWay.isEmpty)
        #expect(written.withLock { $0 } == (0..<100).map { $0 * 1001 })
    }

    @Test("A failed write is reported once, by the next wait; the write after it succeeds")
    func failure() throws {
        let stream = StreamWriter(from: 0) { _, place throws(MigrationError) in
            if place == 8 { throw PageFailure.system("Writing", "store", number: 28) }
        }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 8)
        defer { bytes.deallocate() }
        let some = UnsafeRawBufferPointer(bytes)
        try stream.begin(some, at: 0)
        try stream.begin(some, at: 8)
        #expect(stream.underWay == 8..<16)
        let error = #expect(throws: MigrationError.self) { try stream.begin(some, at: 16) }
        #expect(error?.code == "store.full")
        try stream.wait()
        try stream.begin(some, at: 24)
        try stream.begin(some, at: 8)
        #expect(throws: MigrationError.self) { try stream.wait() }
        try stream.wait()
    }
}
