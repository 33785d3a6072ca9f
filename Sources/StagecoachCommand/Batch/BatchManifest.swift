import Diagnostics
import Foundation

/// The stores of a batch, as a file lists them: one line of JSON for each, or comma-separated values under a line of names.
enum BatchManifest {
    /// Reads a whole manifest. One wrong line refuses all of it, before anything runs.
    ///
    /// Relative paths are relative to the manifest's folder, so that a batch does not depend on the current folder. A file is
    /// read as comma-separated values if its name ends in `.csv` or it does not begin with `{`.
    ///
    /// - Complexity: O(n) of time and memory in the size of the file, which is at most 64 MiB.
    static func read(_ path: String) throws(MigrationError) -> [BatchEntry] {
        let bytes = try InputFile.read(path, what: "manifest")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw MigrationError("manifest.encoding", .data, "The manifest is not UTF-8", at: path)
        }
        let folder = path.contains("/") ? PathIdentity.folder(of: path) : ""
        let first = text.utf8.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0a && $0 != 0x0d }
        let isJSON = !path.hasSuffix(".csv") && first == UInt8(ascii: "{")
        let entries = isJSON ? try objects(text, path, folder) : try table(text, path, folder)
        guard !entries.isEmpty else {
            throw MigrationError("manifest.empty", .data, "The manifest names no store", at: path)
        }
        return entries
    }

    private static func objects(_ text: String, _ path: String, _ folder: String) throws(MigrationError) -> [BatchEntry]
    {
        var entries: [BatchEntry] = []
        // Foundation's own line splitting would also split at other characters.
        for (index, line) in text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
            guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }) else { continue }
            let place = MigrationError.Context(path: path, line: index + 1)
            guard let object = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] else {
                throw MigrationError("manifest.line", .data, "The line is not one JSON object", context: place)
            }
            var values: [String: [String]] = [:]
            for (key, value) in object {
                switch value {
                case let text as String: values[key] = [text]
                case let texts as [String] where BatchEntry.lists[key] != nil: values[key] = texts
                case is NSNull: values[key] = []
                default:
                    throw MigrationError(
                        "manifest.value", .data,
                        BatchEntry.lists[key].map { "'\(key)' is \($0)" } ?? "'\(key)' is no text",
                        context: place)
                }
            }
            entries.append(try BatchEntry(values: values, folder: folder, place: place))
        }
        return entries
    }

    private static func table(_ text: String, _ path: String, _ folder: String) throws(MigrationError) -> [BatchEntry] {
        let rows: [CommaSeparatedValues.Row]
        do {
            rows = try CommaSeparatedValues.rows(text)
        } catch {
            throw MigrationError("manifest.line", .data, error.message, context: .init(path: path, line: error.line))
        }
        guard let header = rows.first else { return [] }
        let names = header.fields.map { $0.trimmingCharacters(in: .whitespaces) }
        guard names.contains("source"), names.contains("destination"), Set(names).count == names.count else {
            throw MigrationError(
                "manifest.header", .data, "The first line does not name the columns, among them source and destination",
                remedy: "Begin with source,destination, or write a JSON object a line",
                context: .init(path: path, line: header.line))
        }
        var entries: [BatchEntry] = []
        for row in rows.dropFirst() {
            let place = MigrationError.Context(path: path, line: row.line)
            guard row.fields.count <= names.count else {
                throw MigrationError("manifest.line", .data, "The line has more values than columns", context: place)
            }
            var values: [String: [String]] = [:]
            for (name, field) in zip(names, row.fields) {
                values[name] = BatchEntry.lists[name] != nil ? field.split(separator: ";").map(String.init) : [field]
            }
            entries.append(try BatchEntry(values: values, folder: folder, place: place))
        }
        return entries
    }
}
