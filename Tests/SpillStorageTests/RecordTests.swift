import Diagnostics
import TestSupport
import Testing

@testable import SpillStorage

/// Arrays of words in lexicographic order.
private func isBefore(_ left: [UInt64], _ right: [UInt64]) -> Bool { left.lexicographicallyPrecedes(right) }

private func randomRecord(_ width: Int, _ form: Int, _ number: Int, _ random: inout SeededGenerator) -> [UInt64] {
    (0..<width).map { word in
        switch form {
        case 0: random.next()
        case 1: UInt64(random.below(20))
        case 2: UInt64(number + word)
        default: word == 0 ? UInt64(random.below(3000)) : UInt64(number)
        }
    }
}

@Suite("Record sorter") struct RecordSorterTests {
    @Test("A sorter gives the same as sorting an array, for records of every width", arguments: 1...8, [0, 1, 2, 3])
    func model(width: Int, form: Int) throws {
        let seed = UInt64(width * 10 + form)
        print("record sorter: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try SpillFixture()
        for (count, memory) in [(0, 0), (1, 0), (500, 1 << 24), (30_000, 0)] {
            for duplicates in [RecordSorter.Duplicates.kept, .dropped] {
                let sorter = RecordSorter(
                    directory: fixture.directory, name: "sort", width: width, memory: memory, duplicates: duplicates)
                let before = try fixture.filesMade()
                var records: [[UInt64]] = []
                for number in 0..<count {
                    let record = randomRecord(width, form, number, &random)
                    records.append(record)
                    try sorter.append(record)
                }
                let sorted = try sorter.finish()
                let left = try fixture.files().count
                #expect(sorted.count == count)
                records.sort(by: isBefore)
                if duplicates == .dropped {
                    records = records.reduce(into: []) { kept, record in
                        if kept.last != record { kept.append(record) }
                    }
                }
                var record = [UInt64](repeating: 0, count: width)
                var got: [[UInt64]] = []
                while try sorted.next(into: &record) { got.append(record) }
                #expect(got == records, "seed \(seed), width \(width), \(count) records")
                let made = try fixture.filesMade() - before
                #expect((made > 0) == (count == 30_000))
                if count == 30_000 && form == 0 && width > 1 { #expect(made > left, "runs were merged") }
            }
        }
        #expect(try fixture.files().isEmpty)
    }

    @Test("Last bits that ascend are not sorted by, and those that are said to and do not are", arguments: 1...3)
    func ascendingBits(width: Int) throws {
        for seed in 0..<30 as Range<UInt64> {
            var random = SeededGenerator(seed: 500 + seed * 10 + UInt64(width))
            print("ascending bits: seed \(seed), width \(width)")
            let fixture = try SpillFixture()
            let second = 1 + random.below(20)
            let last = 8 + random.below(30)
            let said = [[last + second, last], [last], [63, 1], [1 + random.below(63)], []][Int(seed % 5)]
            let sorter = RecordSorter(
                directory: fixture.directory, name: "sort", width: width, memory: seed % 2 == 0 ? 1 << 24 : 0,
                ascendingBits: said)
            var records: [[UInt64]] = []
            let isAscending = seed % 3 != 0
            for number in 0..<(seed % 7 == 0 ? 20 : 9000) {
                let middle = UInt64(isAscending ? number / 5 : random.below(1 << 20)) & (1 << UInt64(second) - 1)
                let head = UInt64(random.below(700)) << UInt64(second + last)
                let tail = UInt64(seed % 4 == 3 ? random.below(256) : number) & (1 << UInt64(last) - 1)
                var record = (0..<width).map { _ in UInt64(random.below(3)) }
                record[width - 1] = head | middle << UInt64(last) | tail
                if width == 3, seed % 2 == 1 { record = [record[2], UInt64(number), 7] }
                records.append(record)
                try sorter.append(record)
            }
            let sorted = try sorter.finish()
            var record = [UInt64](repeating: 0, count: width)
            var got: [[UInt64]] = []
            while try sorted.next(into: &record) { got.append(record) }
            #expect(got == records.sorted(by: isBefore), "seed \(seed), width \(width)")
        }
    }

    @Test("Written in place and shown in chunks they are those of one by one", arguments: [1, 2, 3], [0, 1 << 24])
    func chunks(width: Int, memory: Int) throws {
        var random = SeededGenerator(seed: UInt64(width) + 77)
        let fixture = try SpillFixture()
        for count in [0, 1, 300, 40_000] {
            let sorter = RecordSorter(directory: fixture.directory, name: "sort", width: width, memory: memory)
            let before = try fixture.filesMade()
            var records: [[UInt64]] = []
            while records.count < count {
                // Some are left out, as by who writes them in another way.
                let most = min(count - records.count, 1 + random.below(700))
                try sorter.append(upTo: most) { room, most throws(MigrationError) in
                    let written = max(most / 2, min(most, 1))
                    for number in 0..<written {
                        let record = randomRecord(width, 0, records.count, &random)
                        for word in 0..<width { room[number * width + word] = record[word] }
                        records.append(record)
                    }
                    return written
                }
            }
            var got: [[UInt64]] = []
            try sorter.finish().forEachChunk { chunk, count throws(MigrationError) in
                for number in 0..<count { got.append((0..<width).map { chunk[number * width + $0] }) }
                return true
            }
            #expect(got == records.sorted(by: isBefore))
            #expect((try fixture.filesMade() > before) == (memory == 0 && count == 40_000))
            // It can be filled again, and stopped.
            for number in 0..<5 { try sorter.append(randomRecord(width, 0, number, &random)) }
            var shown = 0
            try sorter.finish().forEachChunk { _, count throws(MigrationError) in
                shown += count
                return false
            }
            #expect(shown == 5)
        }
        #expect(try fixture.files().isEmpty)
    }

    @Test("The convenient forms of append, and words of signed numbers, keep the order")
    func conveniences() throws {
        let fixture = try SpillFixture()
        let sorter = RecordSorter(directory: fixture.directory, name: "sort", width: 2, memory: 0)
        let numbers: [Int64] = [3, .min, -1, .max, 0]
        for number in numbers { try sorter.append(SortKey.encode(number), 1) }
        let sorted = try sorter.finish()
        var record: [UInt64] = [0, 0]
        var got: [Int64] = []
        while try sorted.next(into: &record) { got.append(SortKey.decode(record[0])) }
        #expect(got == numbers.sorted())
        let wide = RecordSorter(directory: fixture.directory, name: "sort", width: 5, memory: 0)
        try wide.append(5, 4, 3, 2, 1)
        try wide.append(1, 2, 3, 4, 5)
        let both = try wide.finish()
        var five = [UInt64](repeating: 0, count: 5)
        #expect(try both.next(into: &five) && five == [1, 2, 3, 4, 5])
    }

    @Test("A changed byte in a run is an error, never a wrong record")
    func damage() throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 4)
        func fill() throws -> SortedRecords {
            let sorter = RecordSorter(directory: fixture.directory, name: "sort", width: 2, memory: 0)
            for _ in 0..<8000 { try sorter.append(random.next(), 1) }
            return try sorter.finish()
        }
        for round in 0..<6 {
            let sorted = try fill()
            let path = try fixture.files()[0]
            let blocks = try SpillFixture.blocks(of: path)
            let block = blocks[round % blocks.count]
            try SpillFixture.withDamage(in: path, at: block.offset + random.below(block.length)) {
                SpillFixture.expectDamage(path) {
                    var record: [UInt64] = [0, 0]
                    var last: UInt64 = 0
                    while try sorted.next(into: &record) {
                        #expect(record[0] >= last)
                        last = record[0]
                    }
                }
            }
        }
    }
}

@Suite("Record log") struct RecordLogTests {
    private func all(_ cursor: RecordCursor, width: Int) throws -> [[UInt64]] {
        var record = [UInt64](repeating: 0, count: width)
        var got: [[UInt64]] = []
        while try cursor.next(into: &record) { got.append(record) }
        return got
    }

    @Test("A log reads like a sorted array between any appends", arguments: [1, 3, 5], [0, 1, 2, 3])
    func model(width: Int, form: Int) throws {
        let seed = UInt64(width * 100 + form)
        print("record log: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try SpillFixture()
        let log = RecordLog(
            directory: fixture.directory, name: "log", width: width, indexWords: min(2, width), memory: 0)
        var model: [[UInt64]] = []
        for number in 0..<(width == 1 ? 60_000 : 25_000) {
            let record = randomRecord(width, form, number, &random)
            try log.append(record)
            model.append(record)
            if random.chance(800) {
                // A lookup by the words of a record, and one by words that are nowhere.
                let words = 1 + random.below(width)
                let source = random.chance(4) ? randomRecord(width, form, 0, &random) : model[random.below(model.count)]
                let prefix = Array(source[..<words])
                var found: [[UInt64]] = []
                try log.forEach(prefix: prefix, words: words) { pointer in
                    found.append((0..<width).map { pointer[$0] })
                }
                let expected = model.filter { $0.starts(with: prefix) }.sorted(by: isBefore)
                #expect(found.sorted(by: isBefore) == expected, "seed \(seed), record \(number)")
                if random.chance(4) { #expect(try all(log.scan(prefix: prefix), width: width) == expected) }
            }
            if random.chance(20_000) { try log.compact() }
            if random.chance(15_000) {
                let cursor = try log.scan()
                let snapshot = model.sorted(by: isBefore)
                try log.append(record)
                model.append(record)
                #expect(try all(cursor, width: width) == snapshot)
            }
        }
        #expect(log.count == model.count)
        #expect(!log.runs.isEmpty)
        if form == 0 { #expect(log.runs.contains { $0.level > 0 }, "runs were merged") }
        if form == 2 { #expect(log.runs.count == 1) }
        model.sort(by: isBefore)
        #expect(try all(log.scan(), width: width) == model)
        log.removeAll()
        #expect(log.count == 0)
        #expect(try all(log.scan(), width: width).isEmpty)
        #expect(try fixture.files().isEmpty)
    }

    @Test("Many logs that share one memory read like sorted arrays", arguments: [0, 1 << 20])
    func sharing(bytes: Int) throws {
        let seed: UInt64 = 77
        var random = SeededGenerator(seed: seed)
        let fixture = try SpillFixture()
        let memory = RecordMemory(bytes: bytes)
        let widths = (0..<40).map { 2 + $0 % 6 }
        var logs = widths.map {
            RecordLog(directory: fixture.directory, name: "log", width: $0, indexWords: 2, memory: memory)
        }
        var model = widths.map { _ in [[UInt64]]() }
        for number in 0..<60_000 {
            // For a time one log is filled, then others.
            let index = random.chance(3) ? random.below(40) : number / 5000
            let record = randomRecord(widths[index], number / 5000 % 4, number, &random)
            try logs[index].append(record)
            model[index].append(record)
            if random.chance(2000) {
                let prefix = Array(model[index][random.below(model[index].count)][..<1])
                var found: [[UInt64]] = []
                try logs[index].forEach(prefix: prefix, words: 1) { pointer in
                    found.append((0..<widths[index]).map { pointer[$0] })
                }
                #expect(
                    found.sorted(by: isBefore) == model[index].filter { $0.starts(with: prefix) }.sorted(by: isBefore),
                    "seed \(seed), record \(number)")
            }
            if random.chance(5000) { try logs[index].release() }
            if number == 40_000 {
                let before = memory.bytesInUse
                try memory.park()
                #expect(before <= 256 << 10 ? memory.bytesInUse == before : memory.bytesInUse == 0, "\(before) bytes")
            }
        }
        #expect(fixture.directory.bytesWritten > 0)
        for (index, log) in logs.enumerated() {
            #expect(try all(log.scan(), width: widths[index]) == model[index].sorted(by: isBefore), "log \(index)")
        }
        // A log that is gone leaves its memory to the others.
        logs.removeLast(30)
        for (index, log) in logs.enumerated() {
            #expect(try all(log.scan(), width: widths[index]) == model[index].sorted(by: isBefore), "log \(index)")
        }
    }

    @Test("A changed byte in a run is an error, never a wrong record")
    func damage() throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 6)
        let log = RecordLog(directory: fixture.directory, name: "log", width: 3, indexWords: 1, memory: 0)
        let order = (0..<20_000).map { UInt64($0) }.shuffled(using: &random)
        for key in order { try log.append(key, 1, key &* 7) }
        try log.compact()
        let path = try fixture.files()[0]
        for block in try SpillFixture.blocks(of: path) {
            try SpillFixture.withDamage(in: path, at: block.offset + random.below(block.length)) {
                var errors = 0
                for key in stride(from: UInt64(0), to: 20_000, by: 20) {
                    do {
                        var got: [UInt64] = []
                        try log.forEach(prefix: [key], words: 1) { got.append($0[2]) }
                        #expect(got == [key &* 7])
                    } catch let error as MigrationError {
                        #expect(error.code == "spill.damaged" && error.context.path == path)
                        errors += 1
                    }
                }
                #expect(errors > 0)
                SpillFixture.expectDamage(path) { _ = try all(log.scan(), width: 3) }
            }
        }
        #expect(try all(log.scan(), width: 3).count == 20_000)
    }
}
