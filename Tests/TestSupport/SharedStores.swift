import Foundation

/// The folder of real stores that lies beside the repository on some machines, `../shared/stores`.
///
/// Nothing of it is part of the repository; tests that need it are skipped, saying so, where it is absent.
package enum SharedStores {
    /// The repository's folder.
    package static let repository: URL = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// `shared` beside the repository, or what `STAGECOACH_SHARED` names.
    package static let shared: URL = {
        if let path = ProcessInfo.processInfo.environment["STAGECOACH_SHARED"] { return URL(fileURLWithPath: path) }
        return repository.deletingLastPathComponent().appendingPathComponent("shared")
    }()

    package static var url: URL { shared.appendingPathComponent("stores") }

    package static var isPresent: Bool {
        FileManager.default.fileExists(atPath: url.appendingPathComponent("INDEX.md").path)
    }

    /// All files and folders below a folder of the stores whose names end in one of the extensions, sorted by path.
    /// Folders that match are not descended into.
    package static func paths(in folder: String = "", withExtensions extensions: Set<String>) -> [URL] {
        let root = folder.isEmpty ? url : url.appendingPathComponent(folder)
        guard let walker = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isDirectoryKey])
        else { return [] }
        var found: [URL] = []
        while let item = walker.nextObject() as? URL {
            if extensions.contains(item.pathExtension) {
                found.append(item)
                walker.skipDescendants()
            }
        }
        return found.sorted { $0.path < $1.path }
    }
}
