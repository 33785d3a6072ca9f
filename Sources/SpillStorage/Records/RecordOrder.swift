/// How words and records are ordered: unsigned, first word first.
package enum SortKey {
    /// An Int64 as a word with the same order.
    package static func encode(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ (1 << 63) }
    /// The Int64 of a word that ``encode(_:)`` made.
    package static func decode(_ word: UInt64) -> Int64 { Int64(bitPattern: word ^ (1 << 63)) }
}

/// Sorting and comparing records of a fixed number of words that stand one after the other.
enum RecordOrder {
    /// Whether a record comes before another.
    @inline(__always)
    static func isLess(_ left: UnsafePointer<UInt64>, _ right: UnsafePointer<UInt64>, words: Int) -> Bool {
        for word in 0..<words where left[word] != right[word] { return left[word] < right[word] }
        return false
    }

    /// Whether two records have the same first words.
    @inline(__always)
    static func isEqual(_ left: UnsafePointer<UInt64>, _ right: UnsafePointer<UInt64>, words: Int) -> Bool {
        for word in 0..<words where left[word] != right[word] { return false }
        return true
    }

    /// The first of the records that is not before the prefix, searched by steps that double from a position on.
    static func lowerBound(
        _ records: UnsafePointer<UInt64>, from: Int, count: Int, width: Int, prefix: UnsafePointer<UInt64>, words: Int
    ) -> Int {
        var low = from
        var step = 1
        while low + step <= count && isLess(records + (low + step - 1) * width, prefix, words: words) {
            low += step
            step *= 2
        }
        var length = min(step - 1, count - low)
        while length > 0 {
            let half = length >> 1
            if isLess(records + (low + half) * width, prefix, words: words) {
                low += half + 1
                length -= half + 1
            } else {
                length = half
            }
        }
        return low
    }

    /// Sorts records.
    ///
    /// A radix sort from the last word to the first, one byte a pass; bytes that are the same in all records are
    /// skipped, and
    /// so are words after which the records stand in order already (a sequence number in order of appending costs one
    /// scan).
    ///
    /// - Parameter scratch: room for as many records.
    /// - Complexity: O(count · differing bytes), no allocation.
    static func sort(
        _ records: UnsafeMutablePointer<UInt64>, scratch: UnsafeMutablePointer<UInt64>, count: Int, width: Int
    ) {
        guard count > 1 else { return }
        if count <= 24 {
            insertionSort(records, count: count, width: width)
            return
        }
        var source = records
        var target = scratch
        for word in stride(from: width - 1, through: 0, by: -1) {
            if isSorted(source, count: count, width: width, from: word) { continue }
            var differing: UInt64 = 0
            let first = source[word]
            var index = word
            for _ in 0..<count {
                differing |= source[index] ^ first
                index += width
            }
            for byte in 0..<8 where (differing >> UInt64(byte * 8)) & 0xFF != 0 {
                switch width {
                case 1: pass(source, target, count: count, width: 1, word: word, shift: UInt64(byte * 8))
                case 2: pass(source, target, count: count, width: 2, word: word, shift: UInt64(byte * 8))
                case 3: pass(source, target, count: count, width: 3, word: word, shift: UInt64(byte * 8))
                default: pass(source, target, count: count, width: width, word: word, shift: UInt64(byte * 8))
                }
                swap(&source, &target)
            }
        }
        if source != records { records.update(from: source, count: count * width) }
    }

    private static func isSorted(_ records: UnsafePointer<UInt64>, count: Int, width: Int, from word: Int) -> Bool {
        var record = records + word
        for _ in 1..<count {
            if isLess(record + width, record, words: width - word) { return false }
            record += width
        }
        return true
    }

    @inline(__always)
    private static func pass(
        _ source: UnsafeMutablePointer<UInt64>, _ target: UnsafeMutablePointer<UInt64>, count: Int, width: Int,
        word: Int, shift: UInt64
    ) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { places in
            let starts = places.baseAddress.unsafelyUnwrapped
            starts.initialize(repeating: 0, count: 256)
            var index = word
            for _ in 0..<count {
                starts[Int((source[index] >> shift) & 0xFF)] += 1
                index += width
            }
            var sum = 0
            for byte in 0..<256 {
                let here = starts[byte]
                starts[byte] = sum
                sum += here * width
            }
            var record = source
            for _ in 0..<count {
                let byte = Int((record[word] >> shift) & 0xFF)
                let place = target + starts[byte]
                for part in 0..<width { place[part] = record[part] }
                starts[byte] += width
                record += width
            }
        }
    }

    private static func insertionSort(_ records: UnsafeMutablePointer<UInt64>, count: Int, width: Int) {
        for index in 1..<count {
            var place = index
            while place > 0
                && isLess(records + place * width, records + (place - 1) * width, words: width)
            {
                for word in 0..<width { swap(&records[place * width + word], &records[(place - 1) * width + word]) }
                place -= 1
            }
        }
    }
}
