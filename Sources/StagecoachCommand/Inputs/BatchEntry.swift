import Diagnostics
import Stagecoach

/// One store of a batch: its source, its destination, and the options of its own.
struct BatchEntry: Equatable {
    /// The store to migrate.
    var source: String
    /// The path of the migrated store. Each destination occurs once in a batch.
    var destination: String
    /// The model that replaces `--to`; nil if the manifest names none.
    var model: String?
    /// The model that replaces `--from`; nil if the manifest names none.
    var from: String?
    /// The mapping models that replace `--mapping`; nil if the manifest names none.
    var mappings: [String]?
    /// The data that may stay behind, which replaces `--allow-loss`; nil if the manifest names none.
    var allowedLosses: [String]?
    /// A new file for the store's report, `NAME.html`, `NAME.json` or `NAME.csv`.
    var report: String?
    /// A new file for the store's rejected objects.
    var rejectFile: String?
    /// A new file for the store's map of object ids.
    var idMap: String?
    /// The place of the entry: a manifest and its line; nil for a store named on the command line.
    var place: MigrationError.Context?

    /// The keys of a manifest's objects, and the names of its columns.
    static let keys = [
        "source", "destination", "model", "from", "mapping", "report", "rejectFile", "idMap", "allowLoss",
    ]
}

extension BatchEntry {
    /// Makes an entry from the values of a manifest.
    ///
    /// - Parameters:
    ///   - values: the values by key; an empty text counts as absent.
    ///   - folder: the folder to which relative paths are relative: the manifest's own folder, or the current one if empty.
    ///   - place: the place for errors.
    /// - Throws: `manifest.missing`, `manifest.unknownKey` (65).
    init(values: [String: [String]], folder: String, place: MigrationError.Context) throws(MigrationError) {
        for key in values.keys.sorted() where !Self.keys.contains(key) {
            throw MigrationError(
                "manifest.unknownKey", .data, "A manifest knows no '\(key)'",
                remedy: EditDistance.question(key, among: Self.keys)
                    ?? "Its keys are \(Self.keys.joined(separator: ", "))", context: place)
        }
        func path(_ text: String) -> String { text.hasPrefix("/") || folder.isEmpty ? text : "\(folder)/\(text)" }
        func one(_ key: String) throws(MigrationError) -> String? {
            let given = (values[key] ?? []).filter { !$0.isEmpty }
            guard given.count < 2 else {
                throw MigrationError("manifest.several", .data, "'\(key)' takes one path", context: place)
            }
            return given.first.map(path)
        }
        func models(_ key: String) -> String? {
            MergedModels.admit((values[key] ?? []).filter { !$0.isEmpty }.map(path))
        }
        guard let source = try one("source"), let destination = try one("destination") else {
            throw MigrationError(
                "manifest.missing", .data, "'source' and 'destination' must both be there", context: place)
        }
        self.init(source: source, destination: destination)
        model = models("model")
        from = models("from")
        report = try one("report")
        rejectFile = try one("rejectFile")
        idMap = try one("idMap")
        let mappings = (values["mapping"] ?? []).filter { !$0.isEmpty }
        self.mappings = mappings.isEmpty ? nil : mappings.map { MappingArgument.placing($0, path) }
        let losses = (values["allowLoss"] ?? []).filter { !$0.isEmpty }
        allowedLosses = losses.isEmpty ? nil : losses
        self.place = place
    }

    /// The entry with absolute paths of its stores, the form in which lines, results and reports name them.
    var absolute: BatchEntry {
        var entry = self
        (entry.source, entry.destination) = (PathIdentity.canonical(source), PathIdentity.canonical(destination))
        return entry
    }

    /// The keys that take a list, with what it is; in comma-separated values its texts are separated by semicolons.
    static let lists = [
        "model": "a path or a list of paths", "from": "a path or a list of paths",
        "mapping": "a path or a list of paths", "allowLoss": "a name or a list of names",
    ]

    /// Refuses entries of one batch that would write the same file.
    ///
    /// - Throws: `manifest.twice` (65) naming both places, `manifest.samePath` (65).
    /// - Complexity: O(n), with a lookup of a folder for each file.
    static func refuseClashes(_ entries: [BatchEntry]) throws(MigrationError) {
        var seen: [String: (entry: Int, key: String)] = [:]
        for (index, entry) in entries.enumerated() {
            if PathIdentity.isSame(entry.source, entry.destination) {
                throw MigrationError(
                    "manifest.samePath", .data, "Source and destination are the same file: \(entry.source)",
                    context: entry.place ?? .init())
            }
            let outputs = [
                ("destination", entry.destination), ("report", entry.report), ("rejectFile", entry.rejectFile),
                ("idMap", entry.idMap),
            ]
            for (key, path) in outputs {
                guard let path else { continue }
                guard let previous = seen.updateValue((index, key), forKey: PathIdentity.canonical(path)) else {
                    continue
                }
                let other = entries[previous.entry]
                let whereabouts = other.place?.line.map { "line \($0)" } ?? other.source
                throw MigrationError(
                    "manifest.twice", .data, "'\(key)' is the '\(previous.key)' of \(whereabouts) too: \(path)",
                    remedy: "Give each store files of its own", context: entry.place ?? .init())
            }
        }
        for entry in entries where seen[PathIdentity.canonical(entry.source)] != nil {
            throw MigrationError(
                "manifest.samePath", .data, "The source is a file that the batch makes: \(entry.source)",
                context: entry.place ?? .init())
        }
    }
}
