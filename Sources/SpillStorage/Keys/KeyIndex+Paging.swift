import Diagnostics

/// The chunks of a ``KeyIndex`` on disk, and the decoded chunks in memory.
extension KeyIndex {
    /// Writes the chunks to disk and frees their memory, if they take more than 64 KiB. This is for a set that is used again
    /// much later. Keys may still be appended.
    package func park() throws(MigrationError) {
        try seal()
        dropBitmaps()
        guard residentBytes > 64 << 10 else { return }
        try spill()
        for index in 0..<chunkCount where chunks[index].location >= 0 { free(index) }
        for slot in slotChunks.indices { slotChunks[slot] = -1 }
        recency = RecencyList(capacity: slotChunks.count)
    }

    /// Writes the chunks that are only in memory, if the allowance is used up.
    func spillIfNeeded() throws(MigrationError) {
        guard file != nil || residentBytes > memory else { return }
        try spill()
    }

    /// Begins to keep chunks in a file.
    func begin(_ target: BlockFile) {
        file = target
        let slots = max(4, min(1 << 15, memory >> 11))
        recency = RecencyList(capacity: slots)
        slotChunks = Array(repeating: -1, count: slots)
    }

    /// Writes the chunks that are only in memory, and frees their memory.
    ///
    /// - Parameter keeping: true to leave them in memory if the allowance is enough. They stay there until ``park()``.
    func spill(keeping: Bool = false) throws(MigrationError) {
        let keeps = keeping && residentBytes <= memory
        if file == nil { begin(try BlockFile(directory: directory, named: name, kind: .keys, scratch: scratch)) }
        while let file, writtenChunks < chunkCount {
            let index = writtenChunks
            if let payload = chunks[index].payload {
                chunks[index].location = try file.append(encoded(index, payload))
                if !keeps { free(index) }
            }
            writtenChunks += 1
        }
    }

    /// Loads all chunks into memory, where they stay, if the allowance is enough for them.
    func loadAll() throws(MigrationError) {
        var bytes = 0
        for index in 0..<chunkCount { bytes += Int(chunks[index].bytes) }
        guard let file, bytes <= memory else { return }
        for index in 0..<chunkCount where chunks[index].payload == nil && chunks[index].kind != .full {
            chunks[index].payload = try read(index, from: file)
            residentBytes += Int(chunks[index].bytes)
        }
    }

    /// Loads a chunk's payload into memory and marks it as used last.
    func load(_ index: Int) throws(MigrationError) {
        if chunks[index].slot >= 0 {
            recency.touch(Int(chunks[index].slot))
            return
        }
        guard chunks[index].payload == nil, chunks[index].kind != .full, let file else { return }
        let payload = try read(index, from: file)
        let slot = freeSlot(for: Int(chunks[index].bytes))
        slotChunks[slot] = index
        chunks[index].payload = payload
        chunks[index].slot = Int32(slot)
        residentBytes += Int(chunks[index].bytes)
    }

    /// Returns a slot for a chunk. Chunks differ in size, so their bytes count, not their number; but a few chunks are always
    /// held.
    private func freeSlot(for bytes: Int) -> Int {
        guard let oldest = recency.oldestSlot, recency.count > 3,
            residentBytes + bytes > memory || slotChunks[oldest] < 0
        else {
            let slot = recency.take().slot
            empty(slot)
            return slot
        }
        empty(oldest)
        recency.touch(oldest)
        var next = recency.oldestSlot
        while residentBytes + bytes > memory, let slot = next, slot != oldest {
            empty(slot)
            next = recency.slot(usedAfter: slot)
        }
        return oldest
    }

    /// Frees the memory of a chunk.
    private func free(_ index: Int) {
        guard let payload = chunks[index].payload else { return }
        payload.deallocate()
        chunks[index].payload = nil
        chunks[index].slot = -1
        residentBytes -= Int(chunks[index].bytes)
    }

    /// Frees the memory of the chunk in a slot.
    private func empty(_ slot: Int) {
        guard slotChunks[slot] >= 0 else { return }
        free(slotChunks[slot])
        slotChunks[slot] = -1
    }

    /// The bytes of a chunk in a file or a state, valid until the next call.
    func encoded(_ index: Int, _ payload: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        let chunk = chunks[index]
        switch chunk.kind {
        case .sparse:
            ColumnCodec.encode(
                payload.assumingMemoryBound(to: UInt64.self), count: keysIn(index), width: 1, into: block)
            return block.bytes
        case .bitmap: return UnsafeRawBufferPointer(start: payload, count: KeyContainer.bitmapWords * 8)
        default: return UnsafeRawBufferPointer(start: payload, count: Int(chunk.bytes))
        }
    }

    /// Makes a payload of the bytes of a chunk; nil if they are not those of such keys.
    static func payload(
        _ bytes: UnsafeRawBufferPointer, _ kind: KeyContainer, size: Int, keys: Int, first: Int64
    ) -> UnsafeMutableRawPointer? {
        let payload = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 8)
        guard let start = payload.baseAddress else { return nil }
        let isWhole: Bool
        if kind == .sparse {
            let held = start.assumingMemoryBound(to: Int64.self)
            isWhole =
                ColumnCodec.decode(
                    bytes, width: 1, into: start.assumingMemoryBound(to: UInt64.self), capacity: keys) == keys
                && held[0] == first && (1..<keys).allSatisfy { held[$0 - 1] < held[$0] }
        } else if bytes.count == (kind == .bitmap ? KeyContainer.bitmapWords * 8 : size) {
            payload.copyMemory(from: bytes)
            isWhole = kind.isWhole(start, keys: keys, bytes: size)
        } else {
            isWhole = false
        }
        if isWhole { return start }
        payload.deallocate()
        return nil
    }

    private func read(_ index: Int, from file: BlockFile) throws(MigrationError) -> UnsafeMutableRawPointer {
        let chunk = chunks[index]
        var next = index + 1
        while next < chunkCount && chunks[next].location < 0 { next += 1 }
        try file.read(at: chunk.location, next: next < chunkCount ? chunks[next].location : file.end, into: block)
        guard
            let payload = Self.payload(
                block.bytes, chunk.kind, size: Int(chunk.bytes), keys: keysIn(index), first: chunk.firstKey)
        else { throw file.damaged(chunk.location, "its keys are not those written") }
        return payload
    }
}
