/// Packs records of fixed width column by column: the content of a block of records before LZ4.
///
/// The format, little-endian:
///
///     header    count UInt32, width UInt32 (words a record)
///     columns   `width` descriptors of 24 bytes: mode UInt8, bits UInt8, 6 bytes zero, base UInt64, first UInt64
///     packed    per column, beginning at a byte: `count` numbers of `bits` bits, low bits first
///     slack     8 bytes zero, so that numbers can be loaded as words
///
/// A packed number plus `base` (wrapping) gives, by mode: 0 the word itself; 1 its difference from the same word of the record
/// before (`first` for the first record); 2 + j its difference from word j of the same record, j being an earlier column. The
/// encoder takes the mode with the fewest bits. Keys that ascend by one take no bits at all, nor do destinations that ascend by
/// one with their sources. A random permutation of n keys takes log2 n bits a key.
enum ColumnCodec {
    static let headerBytes = 8
    static let descriptorBytes = 24
    static let slack = 8

    /// Packs records into a buffer, and replaces its content.
    ///
    /// - Complexity: O(count · width²) time; space of at most 8 bytes a word and 24 a column.
    static func encode(_ records: UnsafePointer<UInt64>, count: Int, width: Int, into target: RawBuffer) {
        precondition(count > 0 && count <= Int(UInt32.max) && width > 0 && width <= 8)
        target.count = 0
        let bodyStart = headerBytes + width * descriptorBytes
        let most = bodyStart + width * (count * 8 + 8) + slack
        target.ensure(most)
        let start = target.start
        start.storeBytes(of: UInt32(truncatingIfNeeded: count).littleEndian, as: UInt32.self)
        start.storeBytes(of: UInt32(truncatingIfNeeded: width).littleEndian, toByteOffset: 4, as: UInt32.self)
        var offset = bodyStart
        for column in 0..<width {
            let plan = choose(records, count: count, width: width, column: column)
            let descriptor = start + headerBytes + column * descriptorBytes
            descriptor.storeBytes(of: UInt64(plan.mode) | UInt64(plan.bits) << 8, as: UInt64.self)
            descriptor.storeBytes(of: plan.base.littleEndian, toByteOffset: 8, as: UInt64.self)
            descriptor.storeBytes(of: records[column].littleEndian, toByteOffset: 16, as: UInt64.self)
            let bytes = packedBytes(count, plan.bits)
            if plan.bits > 0 {
                pack(records, count: count, width: width, column: column, plan: plan, into: start + offset)
            }
            offset += bytes
        }
        (start + offset).initializeMemory(as: UInt8.self, repeating: 0, count: slack)
        target.count = offset + slack
    }

    /// Unpacks a block.
    ///
    /// - Parameters:
    ///   - capacity: the number of records that `target` has room for.
    /// - Returns: the number of records, or nil if the bytes are not what ``encode`` makes for this width.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, width: Int, into target: UnsafeMutablePointer<UInt64>, capacity: Int
    ) -> Int? {
        guard let start = bytes.baseAddress, bytes.count >= headerBytes + width * descriptorBytes + slack else {
            return nil
        }
        let count = Int(UInt32(littleEndian: start.loadUnaligned(as: UInt32.self)))
        guard count > 0, count <= capacity,
            Int(UInt32(littleEndian: start.loadUnaligned(fromByteOffset: 4, as: UInt32.self))) == width
        else { return nil }
        var offset = headerBytes + width * descriptorBytes
        for column in 0..<width {
            let descriptor = start + headerBytes + column * descriptorBytes
            let mode = Int(descriptor.load(as: UInt8.self))
            let bits = Int(descriptor.load(fromByteOffset: 1, as: UInt8.self))
            let base = UInt64(littleEndian: descriptor.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            let first = UInt64(littleEndian: descriptor.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
            let packed = packedBytes(count, bits)
            guard bits <= 64, mode < 2 + column, bytes.count - slack - offset >= packed else { return nil }
            unpack(start + offset, count: count, bits: bits, base: base, into: target + column, stride: width)
            if mode == 1 {
                var word = first
                target[column] = word
                var index = column + width
                for _ in 1..<count {
                    word = word &+ target[index]
                    target[index] = word
                    index += width
                }
            } else if mode > 1 {
                var index = column
                var other = mode - 2
                for _ in 0..<count {
                    target[index] = target[index] &+ target[other]
                    index += width
                    other += width
                }
            }
            offset += packed
        }
        return offset + slack == bytes.count ? count : nil
    }

    private struct Plan {
        var mode: Int
        var bits: Int
        var base: UInt64
    }

    private static func packedBytes(_ count: Int, _ bits: Int) -> Int { (count * bits + 7) / 8 }

    private static func choose(_ records: UnsafePointer<UInt64>, count: Int, width: Int, column: Int) -> Plan {
        var low = records[column]
        var high = low
        var previous = low
        var lowStep = Int64.max
        var highStep = Int64.min
        var index = column + width
        for _ in 1..<count {
            let word = records[index]
            low = min(low, word)
            high = max(high, word)
            let step = Int64(bitPattern: word &- previous)
            lowStep = min(lowStep, step)
            highStep = max(highStep, step)
            previous = word
            index += width
        }
        var best = Plan(mode: 0, bits: 64 - (high - low).leadingZeroBitCount, base: low)
        guard count > 1 else { return best }
        func offer(_ mode: Int, _ low: Int64, _ high: Int64) {
            let bits = 64 - UInt64(bitPattern: high &- low).leadingZeroBitCount
            if bits < best.bits { best = Plan(mode: mode, bits: bits, base: UInt64(bitPattern: low)) }
        }
        offer(1, lowStep, highStep)
        for other in 0..<column where best.bits > 0 {
            var lowDifference = Int64.max
            var highDifference = Int64.min
            var index = column
            let distance = other - column
            for _ in 0..<count {
                let difference = Int64(bitPattern: records[index] &- records[index + distance])
                lowDifference = min(lowDifference, difference)
                highDifference = max(highDifference, difference)
                index += width
            }
            offer(2 + other, lowDifference, highDifference)
        }
        return best
    }

    private static func pack(
        _ records: UnsafePointer<UInt64>, count: Int, width: Int, column: Int, plan: Plan,
        into target: UnsafeMutableRawPointer
    ) {
        let bits = plan.bits
        var pending: UInt64 = 0
        var filled = 0
        var out = target
        var index = column
        var previous = records[column]
        let distance = plan.mode - 2 - column
        for position in 0..<count {
            let word = records[index]
            let number: UInt64
            switch plan.mode {
            case 0: number = word &- plan.base
            case 1:
                // The first record's word is in the column's descriptor.
                number = position == 0 ? 0 : word &- previous &- plan.base
                previous = word
            default: number = word &- records[index + distance] &- plan.base
            }
            index += width
            pending |= number << UInt64(filled)
            if filled + bits >= 64 {
                out.storeBytes(of: pending.littleEndian, as: UInt64.self)
                out += 8
                let used = 64 - filled
                pending = used == 64 ? 0 : number >> UInt64(used)
                filled = filled + bits - 64
            } else {
                filled += bits
            }
        }
        var rest = filled
        while rest > 0 {
            out.storeBytes(of: UInt8(truncatingIfNeeded: pending), as: UInt8.self)
            out += 1
            pending >>= 8
            rest -= 8
        }
    }

    private static func unpack(
        _ source: UnsafeRawPointer, count: Int, bits: Int, base: UInt64, into target: UnsafeMutablePointer<UInt64>,
        stride: Int
    ) {
        var index = 0
        if bits == 0 {
            for _ in 0..<count {
                target[index] = base
                index += stride
            }
        } else if bits <= 57 {
            let mask: UInt64 = (1 << UInt64(bits)) - 1
            var bit = 0
            for _ in 0..<count {
                let word = UInt64(littleEndian: source.loadUnaligned(fromByteOffset: bit >> 3, as: UInt64.self))
                target[index] = (word >> UInt64(bit & 7)) & mask &+ base
                bit += bits
                index += stride
            }
        } else {
            // A number may reach into a ninth byte; thanks to the slack this byte can be loaded.
            let mask: UInt64 = bits == 64 ? .max : (1 << UInt64(bits)) - 1
            var bit = 0
            for _ in 0..<count {
                let shift = UInt64(bit & 7)
                var word =
                    UInt64(littleEndian: source.loadUnaligned(fromByteOffset: bit >> 3, as: UInt64.self)) >> shift
                if shift > 0 {
                    word |= UInt64(source.load(fromByteOffset: (bit >> 3) + 8, as: UInt8.self)) << (64 - shift)
                }
                target[index] = word & mask &+ base
                bit += bits
                index += stride
            }
        }
    }
}
