import Diagnostics
import SpillStorage

// The header is written as plain numbers and texts in sequence. JSON and the types it needs would add a millisecond to the
// start of each resumed run.

extension JournalRecord.Header {
    func write(to writer: inout StateWriter) {
        inputs.write(to: &writer)
        writer.write(texts: options)
        writer.write(texts: policies)
        writer.write(policyCode != nil)
        writer.write(texts: policyCode ?? [])
        writer.write(texts: models)
        writer.write(work)
        writer.write(list: sourceRows) { rows, writer in
            writer.write(list: rows.sorted { $0.key < $1.key }) {
                $1.write($0.key)
                $1.write($0.value)
            }
        }
        writer.write(strays)
        writer.write(destinationBytes)
        writer.write(started.bitPattern)
        writer.write(uuid)
    }

    /// - Throws: `journal.damaged`.
    init(from reader: inout StateReader) throws(MigrationError) {
        inputs = try MigrationPlan.Inputs(from: &reader)
        options = try reader.textsByName()
        policies = try reader.textsByName()
        let hasCode = try reader.flag()
        let code = try reader.texts(upTo: 1 << 16)
        policyCode = hasCode ? code : nil
        models = try reader.texts(upTo: 1 << 16)
        work = try reader.text()
        for _ in 0..<(try reader.count(upTo: 1 << 24)) {
            var rows: [Int: Int] = [:]
            for _ in 0..<(try reader.count(upTo: 1 << 24)) {
                let entity = try reader.signed()
                rows[entity] = try reader.signed()
            }
            sourceRows.append(rows)
        }
        strays = try reader.signed()
        destinationBytes = try reader.signed()
        started = Double(bitPattern: try reader.word())
        uuid = try reader.text()
        try reader.finish()
    }
}

extension MigrationPlan.Inputs {
    fileprivate func write(to writer: inout StateWriter) {
        for store in [source, destination] {
            writer.write(store != nil)
            store?.write(to: &writer)
        }
        for texts in [sourceModel, destinationModel] { writer.write(texts: texts) }
        writer.write(list: mappingModels) { digests, writer in
            writer.write(list: digests) {
                $1.write($0.name)
                $1.write($0.digest)
            }
        }
        writer.write(texts: options)
    }

    fileprivate init(from reader: inout StateReader) throws(MigrationError) {
        source = try reader.flag() ? try MigrationPlan.Store(from: &reader) : nil
        destination = try reader.flag() ? try MigrationPlan.Store(from: &reader) : nil
        sourceModel = try reader.textsByName()
        destinationModel = try reader.textsByName()
        mappingModels = try reader.list { reader throws(MigrationError) in
            try reader.list { reader throws(MigrationError) in
                MigrationPlan.MappingDigest(name: try reader.text(), digest: try reader.text())
            }
        }
        options = try reader.textsByName()
    }
}

extension MigrationPlan.Store {
    fileprivate func write(to writer: inout StateWriter) {
        writer.write(uuid)
        writer.write(size)
        writer.write(changeCounter)
        writer.write(schemaCookie)
        writer.write(logSize)
        writer.write(logFrame)
        writer.write(logHash)
    }

    fileprivate init(from reader: inout StateReader) throws(MigrationError) {
        let uuid = try reader.text()
        let size = try reader.integer()
        let (counter, cookie) = (try reader.page(), try reader.page())
        let (logSize, logFrame) = (try reader.optionalInteger(), try reader.integer())
        self.init(
            uuid: uuid, size: size, changeCounter: counter, schemaCookie: cookie, logSize: logSize, logFrame: logFrame,
            logHash: try reader.text())
    }
}
