import Diagnostics
import Glibc

/// The stores that the command line names, by path or pattern, and their destinations in one folder.
enum StoreGlob {
    /// Tells whether a text is a pattern and not a path.
    static func isPattern(_ text: String) -> Bool {
        access(text, F_OK) != 0 && text.contains { "*?[".contains($0) }
    }

    /// Returns the entries for paths and patterns.
    ///
    /// A store found by a pattern keeps its path below the folders before the pattern's first wildcard. A store given by its
    /// path keeps only its name.
    ///
    /// - Returns: the entries, and the folders that patterns find, which are no stores.
    /// - Throws: `batch.noStores` (66) for a pattern that finds no file, and for a folder.
    static func entries(
        _ operands: [String], into folder: String
    ) throws(MigrationError) -> (entries: [BatchEntry], folders: [String]) {
        var entries: [BatchEntry] = []
        var folders: [String] = []
        for operand in operands {
            guard isPattern(operand) else {
                if InputFile.isFolder(operand) {
                    throw MigrationError(
                        "batch.noStores", .noInput, "A folder is no store", remedy: naming(operand), at: operand)
                }
                let name = operand.split(separator: "/").last.map(String.init) ?? operand
                entries.append(BatchEntry(source: operand, destination: "\(folder)/\(name)"))
                continue
            }
            let all = expand(operand)
            let found = all.filter { !InputFile.isFolder($0) }
            let others = all.filter(InputFile.isFolder)
            guard !found.isEmpty else {
                throw MigrationError(
                    "batch.noStores", .noInput,
                    others.first.map { "The pattern finds no file, but the folder \($0)" }
                        ?? "The pattern finds no file",
                    remedy: others.first.map(naming), at: operand)
            }
            folders += others
            let base = fixedFolder(of: operand)
            entries += found.map { path in
                let rest = path.hasPrefix(base) ? String(path.dropFirst(base.count)) : path
                return BatchEntry(source: path, destination: "\(folder)/\(rest)")
            }
        }
        return (entries, folders)
    }

    /// Returns the advice to name the stores in a folder.
    private static func naming(_ folder: String) -> String {
        "Name the stores in it by a pattern in quotes: '\(PathIdentity.withoutSlash(folder))/*.sqlite'"
    }

    /// Returns the part of a pattern before its first component with a wildcard, with the trailing slash.
    private static func fixedFolder(of pattern: String) -> String {
        let wild = pattern.firstIndex { "*?[".contains($0) } ?? pattern.endIndex
        return pattern[..<wild].lastIndex(of: "/").map { String(pattern[...$0]) } ?? ""
    }

    /// Returns the paths that match a pattern, in order.
    private static func expand(_ pattern: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, 0, nil, &found) == 0, let paths = found.gl_pathv else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { paths[$0].map { String(cString: $0) } }
    }
}
