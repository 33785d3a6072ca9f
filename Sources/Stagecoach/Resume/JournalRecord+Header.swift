import Diagnostics
import SpillStorage

// The header is written as plain numbers and texts in sequence. JSON and the types it needs would add a millisecond to the
// start of each resumed run.

extension JournalRecord.Header {
    func write(to writer: inout StateWriter) {
        writer.write(inputs)
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
        inputs = try reader.planInputs()
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

extension StateWriter {
    fileprivate mutating func write(_ inputs: MigrationPlan.Inputs) {
        for store in [inputs.source, inputs.destination] {
            write(store != nil)
            if let store { write(store) }
        }
        for texts in [inputs.sourceModel, inputs.destinationModel] { write(texts: texts) }
        write(list: inputs.mappingModels) { digests, writer in
            writer.write(list: digests) {
                $1.write($0.name)
                $1.write($0.digest)
            }
        }
        write(texts: inputs.options)
    }

    private mutating func write(_ store: MigrationPlan.Store) {
        write(store.uuid)
        write(store.size)
        write(store.changeCounter)
        write(store.schemaCookie)
        write(store.logSize)
        write(store.logFrame)
        write(store.logHash)
    }
}

extension StateReader {
    fileprivate mutating func planInputs() throws(MigrationError) -> MigrationPlan.Inputs {
        let source = try flag() ? try store() : nil
        let destination = try flag() ? try store() : nil
        let (sourceModel, destinationModel) = (try textsByName(), try textsByName())
        let mappingModels = try list { reader throws(MigrationError) in
            try reader.list { reader throws(MigrationError) in
                MigrationPlan.MappingDigest(name: try reader.text(), digest: try reader.text())
            }
        }
        return MigrationPlan.Inputs(
            source: source, destination: destination, sourceModel: sourceModel, destinationModel: destinationModel,
            mappingModels: mappingModels, options: try textsByName())
    }

    private mutating func store() throws(MigrationError) -> MigrationPlan.Store {
        let uuid = try text()
        let size = try integer()
        let (counter, cookie) = (try page(), try page())
        let (logSize, logFrame) = (try optionalInteger(), try integer())
        return MigrationPlan.Store(
            uuid: uuid, size: size, changeCounter: counter, schemaCookie: cookie, logSize: logSize, logFrame: logFrame,
            logHash: try text())
    }
}
