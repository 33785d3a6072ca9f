import Diagnostics

/// Sets of keys that outlive the process: saving and restoring.
extension KeyIndex {
    /// The size in bytes up to which chunks in memory are written with the state; larger ones go to the file. A state is in
    /// memory two or three times while it is written.
    package static let mostWithState = 16 << 10

    /// Seals the set and writes its state: its directory, and the chunks if they are small.
    ///
    /// - Parameter most: the size in bytes up to which chunks in memory are written with the state.
    package func save(
        to state: inout StateWriter, upTo most: Int = KeyIndex.mostWithState
    ) throws(MigrationError) {
        try seal()
        if file == nil, residentBytes > most { try spill() }
        state.write(lastKey)
        state.write(file != nil)
        file?.save(to: &state)
        state.write(chunkCount)
        for index in 0..<chunkCount {
            let chunk = chunks[index]
            state.write(chunk.firstKey)
            state.write(Int64(keysIn(index)))
            state.write(Int64(chunk.bytes))
            state.write(UInt64(chunk.kind.rawValue))
            state.write(Int64(chunk.location))
            guard chunk.location < 0, chunk.kind != .full, let payload = chunk.payload else { continue }
            state.write(bytes: encoded(index, payload))
        }
    }

    /// Restores a saved set. This one must be empty.
    package func restore(from state: inout StateReader) throws(MigrationError) {
        precondition(count == 0 && file == nil)
        let last = try state.integer()
        if try state.flag() {
            begin(try BlockFile(directory: directory, restoring: &state, kind: .keys, scratch: scratch))
        }
        let chunks = try state.count(upTo: Int(Int32.max))
        var before = Int64.min
        for number in 0..<chunks {
            let first = try state.integer()
            let keys = try state.count(upTo: KeyContainer.rangeSize)
            let bytes = try state.count(upTo: 1 << 20)
            guard let kind = KeyContainer(rawValue: UInt8(truncatingIfNeeded: try state.word())), keys > 0,
                number == 0 || first > before
            else { throw StateReader.damaged("a chunk of keys") }
            let location = try state.integer()
            // Chunks in the file too: their memory is allocated before they are read.
            guard kind.isBytes(bytes, ofKeys: keys) else { throw StateReader.damaged("the size of a chunk of keys") }
            before = first
            var payload: UnsafeMutableRawPointer?
            if location < 0, kind != .full {
                payload = try state.block().withUnsafeBytes {
                    Self.payload($0, kind, size: bytes, keys: keys, first: first)
                }
                if payload == nil { throw StateReader.damaged("the keys of a chunk") }
            } else if location >= 0, file == nil {
                throw StateReader.damaged("keys without a file")
            }
            enter(kind, payload: payload, location: Int(location), bytes: bytes, firstKey: first, keys: keys)
        }
        writtenChunks = file == nil ? 0 : chunkCount
        endRestoring(lastKey: last)
        if file == nil { try spillIfNeeded() }
    }
}
