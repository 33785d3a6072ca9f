import CoreDataStore
import Diagnostics
import SpillStorage

// The fields of a state are written as plain numbers and texts in sequence. A state is written some thirty times a second, and
// JSON would take a tenth of a millisecond for each.

extension LoadPosition {
    func write(to writer: inout StateWriter) {
        writer.write(isDone)
        writer.write(scan)
        writer.write(after)
        writer.write(list: mappings.sorted { $0.key < $1.key }) {
            $1.write($0.key)
            $1.write($0.value.made)
            $1.write($0.value.highest)
        }
        references.write(to: &writer)
        writer.write(links)
        writer.write(highest)
        writer.write(afterLink?.first)
        writer.write(afterLink?.second)
    }

    /// - Throws: `journal.damaged`, as the other initialisers here.
    init(from reader: inout StateReader) throws(MigrationError) {
        isDone = try reader.flag()
        scan = try reader.signed()
        after = try reader.optionalInteger()
        for _ in 0..<(try reader.count(upTo: 1 << 24)) {
            let index = try reader.signed()
            mappings[index] = Mapping(made: try reader.signed(), highest: try reader.integer())
        }
        references = try ReferenceCounts(from: &reader)
        links = try reader.signed()
        highest = try reader.integer()
        let (first, second) = (try reader.optionalInteger(), try reader.optionalInteger())
        if let first, let second { afterLink = (first, second) }
    }
}

extension StateWriter {
    mutating func write(_ counts: MigrationCounts) {
        write(list: counts.mappings) { mapping, writer in
            writer.write(mapping.name)
            writer.write(mapping.sourceEntity)
            writer.write(mapping.destinationEntity)
            writer.write(integers: [
                mapping.sourceObjects, mapping.filtered, mapping.migrated, mapping.droppedByPolicy, mapping.rejected,
                mapping.rejectedObjects, mapping.created, mapping.createdByPolicy, mapping.unassociated,
            ])
            writer.write(numbers: mapping.rejectedByRule)
        }
        write(integers: [
            counts.strays, counts.danglingReferences, counts.unmigratedReferences, counts.surplusToOne, counts.links,
            counts.externalValues, counts.externalFilesCreated, counts.missingExternalFiles,
        ])
        ReferenceCounts(missing: counts.nilReferences ?? [], further: counts.furtherObjects ?? []).write(to: &self)
        for numbers in [counts.withoutMapping, counts.removed, counts.warnings, counts.created] {
            write(numbers: numbers)
        }
    }
}

extension StateReader {
    /// - Throws: `journal.damaged`, as the other functions here.
    mutating func migrationCounts() throws(MigrationError) -> MigrationCounts {
        var counts = MigrationCounts()
        counts.mappings = try list { reader throws(MigrationError) in
            var mapping = MigrationCounts.Mapping(name: try reader.text())
            mapping.sourceEntity = try reader.optionalText()
            mapping.destinationEntity = try reader.optionalText()
            let counts = try reader.signedList()
            guard counts.count == 9 else { throw StateReader.damaged("a mapping's counts") }
            (mapping.sourceObjects, mapping.filtered, mapping.migrated) = (counts[0], counts[1], counts[2])
            (mapping.droppedByPolicy, mapping.rejected, mapping.rejectedObjects) = (counts[3], counts[4], counts[5])
            (mapping.created, mapping.createdByPolicy, mapping.unassociated) = (counts[6], counts[7], counts[8])
            mapping.rejectedByRule = try reader.numbers()
            return mapping
        }
        let numbers = try signedList()
        guard numbers.count == 8 else { throw StateReader.damaged("the counts") }
        (counts.strays, counts.danglingReferences, counts.unmigratedReferences) = (numbers[0], numbers[1], numbers[2])
        (counts.surplusToOne, counts.links, counts.externalValues) = (numbers[3], numbers[4], numbers[5])
        (counts.externalFilesCreated, counts.missingExternalFiles) = (numbers[6], numbers[7])
        let references = try ReferenceCounts(from: &self)
        counts.nilReferences = references.missing.isEmpty ? nil : references.missing
        counts.furtherObjects = references.further.isEmpty ? nil : references.further
        counts.withoutMapping = try self.numbers()
        counts.removed = try self.numbers()
        counts.warnings = try self.numbers()
        counts.created = try self.numbers()
        return counts
    }
}

extension JournalRecord.Progress {
    func write(to writer: inout StateWriter) {
        writer.write(counts)
        writer.write(integers: rowsWritten)
        writer.write(integers: linksWritten)
        writer.write(keys: highest)
        writer.write(list: missing.sorted { $0.key < $1.key }) { table, writer in
            writer.write(table.key)
            writer.write(list: table.value) {
                $1.write($0.entity)
                $1.write($0.key)
                $1.write($0.attribute)
                $1.write($0.file)
            }
        }
        writer.write(rows)
    }

    init(from reader: inout StateReader) throws(MigrationError) {
        counts = try reader.migrationCounts()
        rowsWritten = try reader.signedList()
        linksWritten = try reader.signedList()
        highest = try reader.keys()
        missing = [:]
        for _ in 0..<(try reader.count(upTo: 1 << 24)) {
            let table = try reader.signed()
            missing[table] = try reader.list { reader throws(MigrationError) in
                ExternalFiles.Missing(
                    entity: try reader.text(), key: try reader.integer(), attribute: try reader.text(),
                    file: try reader.text())
            }
        }
        rows = try reader.signed()
    }
}

extension JournalRecord.Appended {
    func write(to writer: inout StateWriter) {
        writer.write(keys: identity)
        writer.write(keys: highestKeys)
        writer.write(flags: hasRows)
        writer.write(integers: rows)
        writer.write(integers: links)
    }

    init(from reader: inout StateReader) throws(MigrationError) {
        identity = try reader.keys()
        highestKeys = try reader.keys()
        hasRows = try reader.flags()
        rows = try reader.signedList()
        links = try reader.signedList()
    }
}

extension JournalRecord.Turns {
    func write(to writer: inout StateWriter) {
        writer.write(done)
        writer.write(list: hasRows) { $1.write(flags: $0) }
        writer.write(flags: isStaged)
        writer.write(keys: highestKeys)
        writer.write(hasDeletions)
        writer.write(isAtBeginning)
        writer.write(written != nil)
        if let written {
            writer.write(written.counts)
            writer.write(integers: written.rows)
            writer.write(integers: written.links)
        }
        writer.write(rejects != nil)
        if let rejects { writer.write(rejects) }
        writer.write(integers: rejectingTables)
    }

    init(from reader: inout StateReader) throws(MigrationError) {
        done = try reader.signed()
        hasRows = try reader.list { reader throws(MigrationError) in try reader.flags() }
        isStaged = try reader.flags()
        highestKeys = try reader.keys()
        hasDeletions = try reader.flag()
        isAtBeginning = try reader.flag()
        written = try reader.optional { reader throws(MigrationError) in
            RunTally.Written(
                counts: try reader.migrationCounts(), rows: try reader.signedList(),
                links: try reader.signedList())
        }
        rejects = try reader.optional { reader throws(MigrationError) in try reader.rejectReport() }
        rejectingTables = try reader.signedList()
    }
}

extension StateWriter {
    mutating func write(_ report: RejectReport) {
        write(integers: [report.objects, report.removedReferences, report.rounds])
        for numbers in [report.byRule, report.byEntity] { write(numbers: numbers) }
        write(list: report.sample) { object, writer in
            writer.write(object.entity)
            writer.write(object.id)
            writer.write(object.sourceID)
            writer.write(object.otherSourceIDs != nil)
            writer.write(list: object.otherSourceIDs ?? []) { $1.write($0) }
            writer.write(object.property)
            writer.write(object.rule.rawValue)
            writer.write(object.value)
            writer.write(object.mapping)
        }
        write(report.file)
    }
}

extension StateReader {
    mutating func rejectReport() throws(MigrationError) -> RejectReport {
        var report = RejectReport()
        let counts = try signedList()
        guard counts.count == 3 else { throw StateReader.damaged("the counts of rejects") }
        (report.objects, report.removedReferences, report.rounds) = (counts[0], counts[1], counts[2])
        report.byRule = try numbers()
        report.byEntity = try numbers()
        report.sample = try list { reader throws(MigrationError) in
            let (entity, id, sourceID) = (try reader.text(), try reader.text(), try reader.optionalText())
            let hasOthers = try reader.flag()
            let others = try reader.list { reader throws(MigrationError) in try reader.text() }
            let property = try reader.text()
            guard let rule = ValidationRule(rawValue: try reader.text()) else { throw StateReader.damaged("a rule") }
            return RejectedObject(
                entity: entity, id: id, sourceID: sourceID, otherSourceIDs: hasOthers ? others : nil,
                property: property, rule: rule, value: try reader.optionalText(), mapping: try reader.optionalText())
        }
        report.file = try optionalText()
        return report
    }
}

extension JournalRecord.Before {
    func write(to writer: inout StateWriter) {
        knowledge.write(to: &writer)
        writer.write(stamp)
    }

    init(from reader: inout StateReader) throws(MigrationError) {
        knowledge = try .init(from: &reader)
        stamp = try reader.integer()
    }
}

extension JournalRecord.Rejects {
    init(from reader: inout StateReader) throws(MigrationError) {
        let counts = try reader.signedList()
        guard counts.count == 3 else { throw StateReader.damaged("the rejects' counts") }
        self.init(made: counts[0], rounds: counts[1], skippedRows: counts[2])
        removed = try ReferenceCounts(from: &reader)
    }
}

extension JournalRecord.State {
    func write(to writer: inout StateWriter) {
        writer.write(stamp)
        writer.write(unit)
        writer.write(position != nil)
        position?.write(to: &writer)
        progress.write(to: &writer)
        knowledge.write(to: &writer)
        writer.write(rejects != nil)
        if let rejects {
            writer.write(integers: [rejects.made, rejects.rounds, rejects.skippedRows])
            rejects.removed.write(to: &writer)
        }
        writer.write(before != nil)
        before?.write(to: &writer)
        writer.write(hasDuplicates)
        writer.write(isComplete)
        turns.write(to: &writer)
        writer.write(appended != nil)
        appended?.write(to: &writer)
        for part in [fill, stages, models, references] {
            writer.write(part != nil)
            if let part { writer.write(bytes: part) }
        }
        writer.write(stagedFiles)
        writer.write(ordinal)
    }

    /// - Throws: `journal.damaged`.
    init(from reader: inout StateReader) throws(MigrationError) {
        stamp = try reader.integer()
        unit = try reader.signed()
        position = try reader.optional { reader throws(MigrationError) in try .init(from: &reader) }
        progress = try .init(from: &reader)
        knowledge = try .init(from: &reader)
        rejects = try reader.optional { reader throws(MigrationError) in try .init(from: &reader) }
        before = try reader.optional { reader throws(MigrationError) in try .init(from: &reader) }
        hasDuplicates = try reader.flag()
        isComplete = try reader.flag()
        turns = try .init(from: &reader)
        appended = try reader.optional { reader throws(MigrationError) in try .init(from: &reader) }
        func part() throws(MigrationError) -> [UInt8]? {
            try reader.optional { reader throws(MigrationError) in try reader.block() }
        }
        fill = try part()
        stages = try part()
        models = try part()
        references = try part()
        stagedFiles = try reader.signed()
        ordinal = try reader.signed()
        try reader.finish()
    }
}
