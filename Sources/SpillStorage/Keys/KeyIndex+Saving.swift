import Diagnostics

/// Sets of keys that outlive the process: saving and restoring.
extension KeyIndex {
    /// The size in bytes up to which chunks in memory are written with the state; larger ones go to the file. A state is in
    /// memory two or three times while it is written.
    private static let mostWithState = 16 << 10

    /// Writes the state of the set, or restores it: this set must be empty. It is sealed before. The state has its directory,
    /// and the chunks if they are small.
    package func code(with coder: inout StateCoder) throws(MigrationError) {
        try seal()
        if !coder.isReading, file == nil, residentBytes > Self.mostWithState { try spill(keeping: true) }
        var last = lastKey
        try coder.code(&last)
        var hasFile = file != nil
        try coder.code(&hasFile)
        if coder.isReading, hasFile {
            begin(try BlockFile(directory: directory, restoring: &coder, kind: .keys, scratch: scratch))
        } else {
            file?.save(to: &coder)
        }
        var count = chunkCount
        try coder.code(&count, upTo: Int(Int32.max))
        for number in 0..<count { try code(chunk: number, with: &coder) }
        guard coder.isReading else { return }
        writtenChunks = file == nil ? 0 : chunkCount
        endRestoring(lastKey: last)
        if file == nil { try spillIfNeeded() } else { try loadAll() }
    }

    private func code(chunk number: Int, with coder: inout StateCoder) throws(MigrationError) {
        let known = coder.isReading ? nil : chunks[number]
        var (first, location) = (known?.firstKey ?? 0, known?.location ?? 0)
        var (keys, bytes) = (known == nil ? 0 : keysIn(number), Int(known?.bytes ?? 0))
        var form = UInt64(known?.kind.rawValue ?? 0)
        try coder.code(&first)
        try coder.code(&keys, upTo: KeyContainer.rangeSize)
        try coder.code(&bytes, upTo: 1 << 20)
        try coder.code(&form)
        try coder.code(&location)
        let isHeld = location < 0 && form != UInt64(KeyContainer.full.rawValue)
        if let known {
            if isHeld, let payload = known.payload { coder.writer.write(bytes: encoded(number, payload)) }
            return
        }
        guard let kind = KeyContainer(rawValue: UInt8(truncatingIfNeeded: form)), keys > 0,
            chunkCount == 0 || first > chunks[chunkCount - 1].firstKey
        else { throw StateReader.damaged("a chunk of keys") }
        // Chunks in the file too: their memory is allocated before they are read.
        guard kind.isBytes(bytes, ofKeys: keys) else { throw StateReader.damaged("the size of a chunk of keys") }
        guard location < 0 || file != nil else { throw StateReader.damaged("keys without a file") }
        var payload: UnsafeMutableRawPointer?
        if isHeld {
            payload = try coder.reader.block().withUnsafeBytes {
                Self.payload($0, kind, size: bytes, keys: keys, first: first)
            }
            if payload == nil { throw StateReader.damaged("the keys of a chunk") }
        }
        enter(kind, payload: payload, location: location, bytes: bytes, firstKey: first, keys: keys)
    }
}
