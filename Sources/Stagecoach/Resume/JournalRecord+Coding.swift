import CoreDataStore
import Diagnostics
import Foundation
import SpillStorage

// The fields of a header and a state are coded as plain numbers and texts in sequence. A state is written several times a
// second, and JSON would take a tenth of a millisecond for each; its types would add a millisecond to the start of a run.

extension JournalRecord.Header: StateCodable {
    init() {
        self.init(
            inputs: .init(sourceModel: [:], destinationModel: [:], mappingModels: [], options: [:]),
            options: [:], policies: [:], work: "", started: 0, uuid: "")
    }

    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&inputs)
        try coder.code(&options)
        try coder.code(&policies)
        try coder.code(&policyCode)
        try coder.code(&models)
        try coder.code(&work)
        try coder.code(&sourceRows)
        try coder.code(&strays)
        try coder.code(&destinationBytes)
        try coder.code(&started)
        try coder.code(&uuid)
    }
}

extension JournalRecord.State: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&stamp)
        try coder.code(&unit)
        try coder.code(&position)
        try coder.code(&progress)
        try coder.code(&knowledge)
        try coder.code(&rejects)
        try coder.code(&before)
        try coder.code(&hasDuplicates)
        try coder.code(&isComplete)
        try coder.code(&turns)
        try coder.code(&appended)
        try coder.code(bytes: &fill)
        try coder.code(bytes: &stages)
        try coder.code(bytes: &models)
        try coder.code(bytes: &references)
        try coder.code(&stagedFiles)
        try coder.code(&ordinal)
    }
}

extension LoadPosition: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&isDone)
        try coder.code(&scan)
        try coder.code(&after)
        try coder.code(&mappings)
        try coder.code(&references)
        try coder.code(&links)
        try coder.code(&highest)
        var (first, second) = (afterLink?.first, afterLink?.second)
        try coder.code(&first)
        try coder.code(&second)
        if let first, let second { afterLink = (first, second) }
    }
}

extension LoadPosition.Mapping: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&made)
        try coder.code(&highest)
    }
}

extension JournalRecord.Progress: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&counts)
        try coder.code(&rowsWritten)
        try coder.code(&linksWritten)
        try coder.code(&highest)
        var tables = missing.sorted { $0.key < $1.key }
        try coder.code(list: &tables, empty: (0, [])) { coder, table throws(MigrationError) in
            try coder.code(&table.key)
            try coder.code(list: &table.value, empty: .init(entity: "", key: 0, attribute: "", file: "")) {
                coder, missing throws(MigrationError) in
                try coder.code(&missing.entity)
                try coder.code(&missing.key)
                try coder.code(&missing.attribute)
                try coder.code(&missing.file)
            }
        }
        missing = Dictionary(tables.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
        try coder.code(&rows)
    }
}

extension JournalRecord.Appended: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&identity)
        try coder.code(&highestKeys)
        try coder.code(&hasRows)
        try coder.code(&rows)
        try coder.code(&links)
    }
}

extension JournalRecord.Turns: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&done)
        try coder.code(&hasRows)
        try coder.code(&isStaged)
        try coder.code(&highestKeys)
        try coder.code(&hasDeletions)
        try coder.code(&isAtBeginning)
        try coder.code(optional: &written, empty: .init(counts: .init(), rows: [], links: [])) {
            coder, written throws(MigrationError) in
            try coder.code(&written.counts)
            try coder.code(&written.rows)
            try coder.code(&written.links)
        }
        try coder.code(optional: &rejects, empty: .init()) { coder, rejects throws(MigrationError) in
            try coder.code(&rejects)
        }
        try coder.code(&rejectingTables)
    }
}

extension JournalRecord.Before: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&knowledge)
        try coder.code(&stamp)
    }
}

extension JournalRecord.Rejects: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&made)
        try coder.code(&rounds)
        try coder.code(&skippedRows)
        try coder.code(&stamp)
    }
}

// The values that callers see are of a room of their own.

extension StateCoder {
    fileprivate mutating func code(_ inputs: inout MigrationPlan.Inputs) throws(MigrationError) {
        try code(&inputs.source)
        try code(&inputs.destination)
        try code(&inputs.sourceModel)
        try code(&inputs.destinationModel)
        try code(list: &inputs.mappingModels, empty: []) { coder, model throws(MigrationError) in
            try coder.code(list: &model, empty: .init(name: "", digest: "")) { coder, mapping throws(MigrationError) in
                try coder.code(&mapping.name)
                try coder.code(&mapping.digest)
            }
        }
        try code(&inputs.options)
    }

    private mutating func code(_ store: inout MigrationPlan.Store?) throws(MigrationError) {
        let empty = MigrationPlan.Store(
            uuid: "", size: 0, changeCounter: 0, schemaCookie: 0, logSize: nil, logFrame: 0, logHash: "")
        try code(optional: &store, empty: empty) { coder, store throws(MigrationError) in
            try coder.code(&store.uuid)
            try coder.code(&store.size)
            try coder.code(&store.changeCounter)
            try coder.code(&store.schemaCookie)
            try coder.code(&store.logSize)
            try coder.code(&store.logFrame)
            try coder.code(&store.logHash)
        }
    }

    fileprivate mutating func code(_ counts: inout MigrationCounts) throws(MigrationError) {
        try code(list: &counts.mappings, empty: .init(name: "")) { coder, mapping throws(MigrationError) in
            try coder.code(&mapping.name)
            try coder.code(&mapping.sourceEntity)
            try coder.code(&mapping.destinationEntity)
            try coder.code(&mapping.sourceObjects)
            try coder.code(&mapping.filtered)
            try coder.code(&mapping.migrated)
            try coder.code(&mapping.droppedByPolicy)
            try coder.code(&mapping.rejected)
            try coder.code(&mapping.rejectedObjects)
            try coder.code(&mapping.created)
            try coder.code(&mapping.createdByPolicy)
            try coder.code(&mapping.unassociated)
            try coder.code(&mapping.rejectedByRule)
        }
        try code(&counts.strays)
        try code(&counts.danglingReferences)
        try code(&counts.unmigratedReferences)
        try code(&counts.surplusToOne)
        try code(&counts.links)
        try code(&counts.externalValues)
        try code(&counts.externalFilesCreated)
        try code(&counts.missingExternalFiles)
        var references = ReferenceCounts(missing: counts.nilReferences ?? [], further: counts.furtherObjects ?? [])
        try code(&references)
        counts.nilReferences = references.missing.isEmpty ? nil : references.missing
        counts.furtherObjects = references.further.isEmpty ? nil : references.further
        try code(&counts.withoutMapping)
        try code(&counts.removed)
        try code(&counts.warnings)
        try code(&counts.created)
    }

    fileprivate mutating func code(_ report: inout RejectReport) throws(MigrationError) {
        try code(&report.objects)
        try code(&report.removedReferences)
        try code(&report.rounds)
        try code(&report.byRule)
        try code(&report.byEntity)
        try code(list: &report.sample, empty: .init(entity: "", id: "", property: "", rule: .value)) {
            coder, object throws(MigrationError) in
            try coder.code(&object.entity)
            try coder.code(&object.id)
            try coder.code(&object.sourceID)
            try coder.code(&object.otherSourceIDs)
            try coder.code(&object.property)
            try coder.code(word: &object.rule)
            try coder.code(&object.value)
            try coder.code(&object.mapping)
        }
        try code(&report.file)
    }
}
