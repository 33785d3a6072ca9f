/// The order of words and records: unsigned, first word first.
package enum SortKey {
    /// Turns an Int64 into a word with the same order.
    package static func encode(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ (1 << 63) }
    /// Turns a word of ``encode(_:)`` back into the Int64.
    package static func decode(_ word: UInt64) -> Int64 { Int64(bitPattern: word ^ (1 << 63)) }
}

/// Sorts and compares records of a fixed number of words, stored one after the other.
enum RecordOrder {
    /// Tells whether a record comes before another.
    @inline(__always)
    static func isLess(_ left: UnsafePointer<UInt64>, _ right: UnsafePointer<UInt64>, words: Int) -> Bool {
        for word in 0..<words where left[word] != right[word] { return left[word] < right[word] }
        return false
    }

    /// Tells whether two records have the same first words.
    @inline(__always)
    static func isEqual(_ left: UnsafePointer<UInt64>, _ right: UnsafePointer<UInt64>, words: Int) -> Bool {
        for word in 0..<words where left[word] != right[word] { return false }
        return true
    }

    /// The index of the first record that is not before the prefix. The search goes from the first record, with steps that
    /// double.
    static func lowerBound(
        _ records: UnsafePointer<UInt64>, count: Int, width: Int, prefix: UnsafePointer<UInt64>, words: Int
    ) -> Int {
        var low = 0
        var step = 1
        while low + step <= count && isLess(records + (low + step - 1) * width, prefix, words: words) {
            low += step
            step *= 2
        }
        let from = low
        return low
            + KeyContainer.partition(count: min(step - 1, count - low)) {
                isLess(records + (from + $0) * width, prefix, words: words)
            }
    }

    /// Sorts records.
    ///
    /// This is a radix sort from the last word to the first, over the bits that differ. It begins with the last word that is
    /// not yet in order together with the words after it. So words that follow the order of appending (a sequence number and
    /// the words behind it) cost only one scan. The same holds for a sequence number in the last bits of a word.
    ///
    /// - Parameters:
    ///   - scratch: room for as many records.
    ///   - ascendingBits: the numbers of last bits of a word to test for being in order already, the likeliest first; 1 to 63
    ///     each.
    /// - Complexity: O(count · differing bits / 11), no allocation.
    static func sort(
        _ records: UnsafeMutablePointer<UInt64>, scratch: UnsafeMutablePointer<UInt64>, count: Int, width: Int,
        ascendingBits: [Int] = [32]
    ) {
        guard count > 1 else { return }
        if count <= 24 {
            insertionSort(records, count: count, width: width)
            return
        }
        var inOrder = 0
        while inOrder < width, !isSorted(records, count: count, width: width, from: inOrder) { inOrder += 1 }
        // 2,048 buckets are worth their memory only if many records go to them.
        let bits: UInt64 = count < 8192 ? 8 : 11
        var source = records
        var target = scratch
        for word in stride(from: inOrder - 1, through: 0, by: -1) {
            var differing: UInt64 = 0
            let first = source[word]
            var index = word
            for _ in 0..<count {
                differing |= source[index] ^ first
                index += width
            }
            if word == inOrder - 1 {
                for bits in ascendingBits {
                    let last: UInt64 = 1 << UInt64(bits) &- 1
                    guard differing & ~last != 0, differing & last != 0,
                        isSorted(source, count: count, width: width, from: word, last)
                    else { continue }
                    differing &= ~last
                    break
                }
            }
            while differing != 0 {
                let digit = Digit(word: word, shift: UInt64(differing.trailingZeroBitCount), mask: 1 << bits - 1)
                switch width {
                case 1: pass(source, target, count: count, width: 1, digit)
                case 2: pass(source, target, count: count, width: 2, digit)
                case 3: pass(source, target, count: count, width: 3, digit)
                default: pass(source, target, count: count, width: width, digit)
                }
                swap(&source, &target)
                differing &= ~(digit.mask << digit.shift)
            }
        }
        if source != records { records.update(from: source, count: count * width) }
        assert(isSorted(records, count: count, width: width, from: 0), "the passes leave the records in order")
    }

    /// The bits of a record that one pass sorts by.
    private struct Digit {
        let word: Int
        let shift: UInt64
        let mask: UInt64

        @inline(__always)
        func value(_ record: UnsafePointer<UInt64>) -> Int { Int((record[word] >> shift) & mask) }
    }

    /// Tells whether records are in order if only the words from one on count, and of that word only the bits of a mask.
    private static func isSorted(
        _ records: UnsafePointer<UInt64>, count: Int, width: Int, from word: Int, _ last: UInt64 = .max
    ) -> Bool {
        var record = records + word
        for _ in 1..<count {
            let (low, next) = (record[0] & last, record[width] & last)
            if next < low { return false }
            if next == low, isLess(record + width + 1, record + 1, words: width - word - 1) { return false }
            record += width
        }
        return true
    }

    @inline(__always)
    private static func pass(
        _ source: UnsafeMutablePointer<UInt64>, _ target: UnsafeMutablePointer<UInt64>, count: Int, width: Int,
        _ digit: Digit
    ) {
        let places = Int(digit.mask) + 1
        withUnsafeTemporaryAllocation(of: Int.self, capacity: places) { space in
            let starts = space.baseAddress.unsafelyUnwrapped
            starts.initialize(repeating: 0, count: places)
            var record = source
            for _ in 0..<count {
                starts[digit.value(record)] += 1
                record += width
            }
            var sum = 0
            for value in 0..<places {
                let here = starts[value]
                starts[value] = sum
                sum += here * width
            }
            record = source
            for _ in 0..<count {
                let value = digit.value(record)
                let place = target + starts[value]
                for part in 0..<width { place[part] = record[part] }
                starts[value] += width
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
