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
        try coder.code(
            &self, \.options, \.policies, \.policyCode, \.models, \.work, \.sourceRows, \.strays,
            \.destinationBytes, \.started, \.uuid)
    }
}

extension JournalRecord.State: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(
            &self, \.stamp, \.unit, \.pages, \.progress, \.knowledge, \.rejects, \.before, \.hasDuplicates,
            \.isComplete, \.modelProgress, \.appended)
        try coder.code(bytes: &stages)
        try coder.code(bytes: &models)
        try coder.code(bytes: &references)
        try coder.code(&self, \.countedValues, \.stagedFiles, \.files, \.ordinal)
    }
}

extension JournalRecord.Progress: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&counts)
        try coder.code(&self, \.rowsWritten, \.linksWritten, \.highest)
        var tables = missing.sorted { $0.key < $1.key }
        try coder.code(list: &tables, empty: (0, [])) { coder, table throws(MigrationError) in
            try coder.code(&table.key)
            try coder.code(list: &table.value, empty: .init(entity: "", key: 0, attribute: "", file: "")) {
                coder, missing throws(MigrationError) in
                try coder.code(&missing, \.entity, \.key, \.attribute, \.file)
            }
        }
        missing = Dictionary(tables.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
        try coder.code(&work)
    }
}

extension JournalRecord.Appended: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&self, \.identity, \.highestKeys, \.hasRows, \.rows, \.links)
    }
}

extension JournalRecord.ModelProgress: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&self, \.done, \.hasRows, \.isStaged, \.highestKeys, \.hasDeletions, \.isAtBeginning)
        try coder.code(optional: &written, empty: .init(counts: .init(), rows: [], links: [])) {
            coder, written throws(MigrationError) in
            try coder.code(&written.counts)
            try coder.code(&written, \.rows, \.links)
        }
        try coder.code(optional: &rejects, empty: .init()) { coder, rejects throws(MigrationError) in
            try coder.code(&rejects)
        }
        try coder.code(&rejectingTables)
    }
}

extension JournalRecord.Before: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&self, \.knowledge, \.stamp, \.pages)
    }
}

extension JournalRecord.Rejects: StateCodable {
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&self, \.made, \.rounds, \.skippedRows, \.stamp)
    }
}

// The values that callers see are of a room of their own.

extension StateCoder {
    fileprivate mutating func code(_ inputs: inout MigrationPlan.Inputs) throws(MigrationError) {
        try code(&inputs.source)
        try code(&inputs.destination)
        try code(&inputs, \.sourceModel, \.destinationModel)
        try code(list: &inputs.mappingModels, empty: []) { coder, model throws(MigrationError) in
            try coder.code(list: &model, empty: .init(name: "", digest: "")) { coder, mapping throws(MigrationError) in
                try coder.code(&mapping, \.name, \.digest)
            }
        }
        try code(&inputs.options)
    }

    private mutating func code(_ store: inout MigrationPlan.Store?) throws(MigrationError) {
        let empty = MigrationPlan.Store(
            uuid: "", size: 0, changeCounter: 0, schemaCookie: 0, logSize: nil, logFrame: 0, logHash: "")
        try code(optional: &store, empty: empty) { coder, store throws(MigrationError) in
            try coder.code(&store, \.uuid, \.size, \.changeCounter, \.schemaCookie, \.logSize, \.logFrame, \.logHash)
        }
    }

    fileprivate mutating func code(_ counts: inout MigrationCounts) throws(MigrationError) {
        try code(list: &counts.mappings, empty: .init(name: "")) { coder, mapping throws(MigrationError) in
            try coder.code(
                &mapping, \.name, \.sourceEntity, \.destinationEntity, \.sourceObjects, \.filtered, \.migrated,
                \.droppedByPolicy, \.rejected, \.rejectedObjects, \.created, \.createdByPolicy, \.unassociated,
                \.rejectedByRule, \.mergedBy)
            var shared = mapping.shared ?? 0
            try coder.code(&shared)
            mapping.shared = shared == 0 ? nil : shared
            try coder.code(optional: &mapping.matched, empty: .init(objects: 0, rows: 0, by: "")) {
                coder, matched throws(MigrationError) in
                try coder.code(&matched, \.objects, \.rows, \.by)
            }
        }
        try code(
            &counts, \.strays, \.danglingReferences, \.unmigratedReferences, \.surplusToOne, \.links, \.externalValues,
            \.externalFilesCreated, \.missingExternalFiles)
        var references = ReferenceCounts(missing: counts.nilReferences ?? [], further: counts.furtherObjects ?? [])
        try code(&references)
        counts.nilReferences = references.missing.isEmpty ? nil : references.missing
        counts.furtherObjects = references.further.isEmpty ? nil : references.further
        var cuts = counts.valuesCut ?? []
        try code(list: &cuts, empty: .init(attribute: "", part: .fraction, values: 0, objects: [])) {
            coder, line throws(MigrationError) in
            try coder.code(&line, \.attribute, \.values)
            try coder.code(word: &line.part)
            try coder.code(list: &line.objects, empty: .init(object: "", value: "")) {
                coder, object throws(MigrationError) in
                try coder.code(&object, \.object, \.value)
            }
        }
        counts.valuesCut = cuts.isEmpty ? nil : cuts
        try code(&counts, \.withoutMapping, \.removed, \.warnings, \.created)
    }

    fileprivate mutating func code(_ report: inout RejectReport) throws(MigrationError) {
        try code(&report, \.objects, \.removedReferences, \.rounds, \.byRule, \.byEntity)
        try code(list: &report.sample, empty: .init(entity: "", id: "", property: "", rule: .value)) {
            coder, object throws(MigrationError) in
            try coder.code(&object, \.entity, \.id, \.sourceID, \.otherSourceIDs, \.property)
            try coder.code(word: &object.rule)
            try coder.code(&object, \.value, \.mapping)
        }
        try code(&report.file)
    }
}
