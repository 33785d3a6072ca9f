import CLZ4
import Diagnostics

/// The content of a file's blocks: the `kind` of its header.
enum BlockKind: UInt16 {
    case keys = 1
    case records = 2
    case rows = 3
    case patches = 4
    case index = 5
    case entries = 6

    /// The acceleration of LZ4, which trades size for speed. With 4, rows of a store compress a third faster and to 3 % more
    /// bytes.
    var acceleration: Int32 { self == .rows ? 4 : 1 }

    /// The number of blocks that are written uncompressed after one that LZ4 did not shrink enough.
    static let blocksLeftAlone = 31

    /// Tells whether LZ4 shrank a block enough to be worth its time.
    ///
    /// Rows must shrink by three eighths. Rows of numbers and short texts shrink by less, and LZ4 would take a sixth of the
    /// processor time of a run with a policy on every object. Records must shrink by an eighth: they are packed bits, and LZ4
    /// finds something in regular ones only.
    func isWorth(_ compressed: Int, of raw: Int) -> Bool {
        switch self {
        case .rows: compressed <= raw - raw / 8 * 3
        case .records: compressed <= raw - raw / 8
        default: true
        }
    }
}

/// A file of compressed, checksummed blocks: appended in order, read at any offset.
///
/// The format, version 1, little-endian throughout:
///
///     file    header, then blocks without gaps
///     header  16 bytes: "SPILLBLK", version UInt16, kind UInt16, low 32 bits of the checksum of these 12 bytes (seed 0)
///     block   16 bytes: raw length UInt32; stored length UInt32, its top bit set if the bytes are not compressed;
///                       checksum UInt64 of the stored bytes, seeded with the block's offset and both length fields;
///             then the stored bytes: one LZ4 block, or the raw bytes if LZ4 does not shrink them or is left out
///
/// A raw length is 1 to 2,113,929,216 (LZ4's limit). Blocks are about 64 KiB unless one row is larger. A reader knows the
/// offsets of a block and of the next one from its own index, so it finds a wrong length before it allocates anything.
///
/// Memory: the path and the scratch space, which the files of one structure share.
final class BlockFile {
    static let headerBytes = 16
    static let blockHeaderBytes = 16
    static let largestBlock = 0x7E00_0000
    private static let magic: UInt64 = 0x4B4C_424C_4C49_5053
    private static let uncompressed: UInt32 = 1 << 31

    let file: SpillFile
    private let kind: BlockKind
    private let scratch: RawBuffer
    private var headerChecked = false
    /// The number of next blocks to write without compression.
    @exclusivity(unchecked) private var leftAlone = 0

    /// The offset of the next block: the end of the written bytes.
    var end: Int { file.size }
    var path: String { file.path }

    /// Creates a file and writes its header.
    ///
    /// - Parameters:
    ///   - scratch: space for one stored block, shared with other files that the same thread uses.
    init(directory: WorkDirectory, named name: String, kind: BlockKind, scratch: RawBuffer) throws(MigrationError) {
        file = try SpillFile(directory: directory, named: name)
        self.kind = kind
        self.scratch = scratch
        scratch.ensure(Self.headerBytes)
        scratch.start.storeBytes(of: Self.magic.littleEndian, as: UInt64.self)
        scratch.start.storeBytes(of: UInt16(1).littleEndian, toByteOffset: 8, as: UInt16.self)
        scratch.start.storeBytes(of: kind.rawValue.littleEndian, toByteOffset: 10, as: UInt16.self)
        let sum = Checksum.of(UnsafeRawBufferPointer(start: scratch.start, count: 12), seed: 0)
        scratch.start.storeBytes(of: UInt32(truncatingIfNeeded: sum).littleEndian, toByteOffset: 12, as: UInt32.self)
        try file.append(UnsafeRawBufferPointer(start: scratch.start, count: Self.headerBytes))
    }

    /// Opens a file that a saved state names.
    init(
        directory: WorkDirectory, restoring coder: inout StateCoder, kind: BlockKind, scratch: RawBuffer
    ) throws(MigrationError) {
        file = try SpillFile(directory: directory, restoring: &coder)
        self.kind = kind
        self.scratch = scratch
        // The header goes back to the disk with the first blocks. It was checked before.
        headerChecked = file.discarded > 0
    }

    /// Writes the file's name and sizes to a state. From now on the file outlives the process.
    func save(to coder: inout StateCoder) { file.save(to: &coder) }

    /// Compresses and writes a block. Returns its offset.
    ///
    /// - Precondition: `raw` has 1 to ``largestBlock`` bytes.
    /// - Throws: `spill.full`, `spill.io` (74); the file then ends where it ended before.
    func append(_ raw: UnsafeRawBufferPointer) throws(MigrationError) -> Int {
        precondition(raw.count > 0 && raw.count <= Self.largestBlock)
        let length = Int32(truncatingIfNeeded: raw.count)
        let bound = Int(LZ4_compressBound(length))
        scratch.count = 0
        scratch.ensure(Self.blockHeaderBytes + bound)
        let space = scratch.start + Self.blockHeaderBytes
        var compressed = 0
        if leftAlone > 0 {
            leftAlone -= 1
        } else {
            compressed = Int(
                LZ4_compress_fast(
                    raw.baseAddress?.assumingMemoryBound(to: CChar.self), space.assumingMemoryBound(to: CChar.self),
                    length, Int32(truncatingIfNeeded: bound), kind.acceleration))
            if !kind.isWorth(compressed, of: raw.count) { leftAlone = BlockKind.blocksLeftAlone }
        }
        var stored = compressed
        var storedField = UInt32(truncatingIfNeeded: compressed)
        if compressed <= 0 || compressed >= raw.count, let start = raw.baseAddress {
            space.copyMemory(from: start, byteCount: raw.count)
            stored = raw.count
            storedField = UInt32(truncatingIfNeeded: raw.count) | Self.uncompressed
        }
        let offset = file.size
        let rawField = UInt32(truncatingIfNeeded: raw.count)
        let sum = Checksum.of(
            UnsafeRawBufferPointer(start: space, count: stored), seed: Self.seed(offset, rawField, storedField))
        scratch.start.storeBytes(of: rawField.littleEndian, as: UInt32.self)
        scratch.start.storeBytes(of: storedField.littleEndian, toByteOffset: 4, as: UInt32.self)
        scratch.start.storeBytes(of: sum.littleEndian, toByteOffset: 8, as: UInt64.self)
        try file.append(UnsafeRawBufferPointer(start: scratch.start, count: Self.blockHeaderBytes + stored))
        scratch.reset(keeping: 128 * 1024)
        return offset
    }

    func read(at offset: Int, next: Int, into target: RawBuffer) throws(MigrationError) {
        try checkHeader()
        guard offset >= 0, next <= end, offset < next, next - offset > Self.blockHeaderBytes else {
            throw damaged(offset, "its length is impossible")
        }
        let length = next - offset
        scratch.count = 0
        scratch.ensure(length)
        let got = try file.read(into: UnsafeMutableRawBufferPointer(start: scratch.start, count: length), at: offset)
        guard got == length else { throw damaged(offset, "the file ends inside it") }
        let rawField = UInt32(littleEndian: scratch.start.load(as: UInt32.self))
        let storedField = UInt32(littleEndian: scratch.start.load(fromByteOffset: 4, as: UInt32.self))
        let sum = UInt64(littleEndian: scratch.start.load(fromByteOffset: 8, as: UInt64.self))
        let stored = Int(storedField & ~Self.uncompressed)
        guard stored == length - Self.blockHeaderBytes else { throw damaged(offset, "its stored length is wrong") }
        let space = scratch.start + Self.blockHeaderBytes
        let bytes = UnsafeRawBufferPointer(start: space, count: stored)
        guard Checksum.of(bytes, seed: Self.seed(offset, rawField, storedField)) == sum else {
            throw damaged(offset, "its checksum differs")
        }
        let raw = Int(rawField)
        guard raw > 0, raw <= Self.largestBlock else { throw damaged(offset, "its raw length is impossible") }
        target.count = 0
        target.ensure(raw)
        if storedField & Self.uncompressed != 0 {
            guard raw == stored else { throw damaged(offset, "its lengths differ") }
            target.start.copyMemory(from: space, byteCount: raw)
        } else {
            let decoded = LZ4_decompress_safe(
                space.assumingMemoryBound(to: CChar.self), target.start.assumingMemoryBound(to: CChar.self),
                Int32(truncatingIfNeeded: stored), Int32(truncatingIfNeeded: raw))
            guard Int(decoded) == raw else { throw damaged(offset, "it does not decompress") }
        }
        target.count = raw
        scratch.reset(keeping: 128 * 1024)
    }

    /// Gives the disk space of the blocks before an offset back. They must not be read any more.
    ///
    /// - Throws: `spill.damaged`, `spill.io` (74): the header is checked while it still exists.
    func discard(before offset: Int) throws(MigrationError) {
        try checkHeader()
        file.discard(before: offset)
    }

    /// The error for a block whose content is not as its writer made it.
    func damaged(_ offset: Int, _ what: String) -> MigrationError {
        SpillFailure.damaged(file.path, block: offset, what)
    }

    private func checkHeader() throws(MigrationError) {
        guard !headerChecked else { return }
        scratch.count = 0
        scratch.ensure(Self.headerBytes)
        let space = UnsafeMutableRawBufferPointer(start: scratch.start, count: Self.headerBytes)
        guard try file.read(into: space, at: 0) == Self.headerBytes else { throw damaged(0, "the file has no header") }
        let sum = Checksum.of(UnsafeRawBufferPointer(start: scratch.start, count: 12), seed: 0)
        guard UInt64(littleEndian: scratch.start.load(as: UInt64.self)) == Self.magic,
            UInt16(littleEndian: scratch.start.load(fromByteOffset: 8, as: UInt16.self)) == 1,
            UInt16(littleEndian: scratch.start.load(fromByteOffset: 10, as: UInt16.self)) == kind.rawValue,
            UInt32(littleEndian: scratch.start.load(fromByteOffset: 12, as: UInt32.self))
                == UInt32(truncatingIfNeeded: sum)
        else { throw damaged(0, "the file's header is wrong") }
        headerChecked = true
    }

    private static func seed(_ offset: Int, _ raw: UInt32, _ stored: UInt32) -> UInt64 {
        (UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9_7F4A_7C15) ^ (UInt64(raw) << 32 | UInt64(stored))
    }
}
