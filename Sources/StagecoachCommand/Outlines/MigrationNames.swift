/// The model versions and the mapping models of a migration, by name. Every outline and report of it has them.
struct MigrationNames: Encodable {
    var sourceVersion: String?
    var destinationVersion: String?
    /// The files of the mapping models; nil if the mapping model was inferred.
    var mapping: String?
    /// The outline of the inputs; nil if the run ended before they were read.
    var outline: InputsOutline?

    /// `Library → Library 2`.
    var versions: String { Versions.text(sourceVersion, destinationVersion) }

    /// The first lines of a table of facts.
    var facts: [[String]] {
        [["model", versions], ["mapping", mapping ?? "inferred"]] + (outline?.facts ?? [])
    }

    /// `Library → Library 2, mapping library.json`.
    var line: String { "\(versions), mapping \(mapping ?? "inferred")" }
}

extension MigrationInputs {
    var names: MigrationNames {
        MigrationNames(
            sourceVersion: sourceModel.name, destinationVersion: destinationModel.name, mapping: mapping,
            outline: InputsOutline(self))
    }
}
