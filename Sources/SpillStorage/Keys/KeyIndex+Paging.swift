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
        for slot in slotChunks.indices { empty(slot) }
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

    /// Writes the chunks that are only in memory.
    func spill() throws(MigrationError) {
        let target: BlockFile
        if let file {
            target = file
        } else {
            target = try BlockFile(directory: directory, named: name, kind: .keys, scratch: scratch)
            begin(target)
        }
        while writtenChunks < chunkCount {
            let index = writtenChunks
            if let payload = chunks[index].payload {
                chunks[index].location = try write(chunks[index], payload, keys: keysIn(index), to: target)
                payload.deallocate()
                chunks[index].payload = nil
                residentBytes -= Int(chunks[index].bytes)
            }
            writtenChunks += 1
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
        chunksRead += 1
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

    /// Frees the memory of the chunk in a slot.
    private func empty(_ slot: Int) {
        let chunk = slotChunks[slot]
        guard chunk >= 0 else { return }
        chunks[chunk].payload?.deallocate()
        chunks[chunk].payload = nil
        chunks[chunk].slot = -1
        residentBytes -= Int(chunks[chunk].bytes)
        slotChunks[slot] = -1
    }

    private func write(
        _ chunk: Chunk, _ payload: UnsafeMutableRawPointer, keys: Int, to file: BlockFile
    ) throws(MigrationError) -> Int {
        switch chunk.kind {
        case .sparse:
            ColumnCodec.encode(payload.assumingMemoryBound(to: UInt64.self), count: keys, width: 1, into: block)
            return try file.append(block.bytes)
        case .bitmap:
            return try file.append(UnsafeRawBufferPointer(start: payload, count: KeyContainer.bitmapWords * 8))
        default:
            return try file.append(UnsafeRawBufferPointer(start: payload, count: Int(chunk.bytes)))
        }
    }

    private func read(_ index: Int, from file: BlockFile) throws(MigrationError) -> UnsafeMutableRawPointer {
        let chunk = chunks[index]
        var next = index + 1
        while next < chunkCount && chunks[next].location < 0 { next += 1 }
        try file.read(at: chunk.location, next: next < chunkCount ? chunks[next].location : file.end, into: block)
        let payload = UnsafeMutableRawPointer.allocate(byteCount: Int(chunk.bytes), alignment: 8)
        if fill(payload, from: chunk, keys: keysIn(index)) { return payload }
        payload.deallocate()
        throw file.damaged(chunk.location, "its keys are not those written")
    }

    private func fill(_ payload: UnsafeMutableRawPointer, from chunk: Chunk, keys: Int) -> Bool {
        switch chunk.kind {
        case .sparse:
            return ColumnCodec.decode(
                block.bytes, width: 1, into: payload.assumingMemoryBound(to: UInt64.self), capacity: keys) == keys
        case .bitmap:
            guard block.count == KeyContainer.bitmapWords * 8 else { return false }
            payload.copyMemory(from: block.start, byteCount: block.count)
            return KeyContainer.setRanks(payload) == keys
        default:
            guard block.count == Int(chunk.bytes) else { return false }
            payload.copyMemory(from: block.start, byteCount: block.count)
            return chunk.kind.isWhole(payload, keys: keys, bytes: block.count)
        }
    }
}
