import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Stagecoach
import Synchronization

/// Digests everything that a store's migration depends on except the store: options, models, mapping models, policies.
final class BatchConfiguration: Sendable {
    private let options: String
    /// Digests of files and folders by path, cached because a batch names the same few again and again.
    private let files = Mutex<[String: String]>([:])

    /// - Parameter options: the options that change a result, as written on the command line.
    init(options: String) { self.options = options }

    /// Returns the digest of one migration's configuration: 64 hexadecimal digits.
    ///
    /// - Complexity: O(bytes of the models and mapping models) the first time, O(1) later.
    func digest(_ request: MigrationRequest) -> String {
        var hash = SHA256()
        func add(_ text: String?) {
            let text = text ?? "\u{0}"
            hash.update("\(text.utf8.count):\(text)")
        }
        add(options)
        for path in [request.to, request.from] { add(path.map(content)) }
        for argument in request.mappings.map(MappingArgument.init) {
            if let versions = argument.versions { add("\(versions.source)..\(versions.destination)") }
            add(content(argument.path))
        }
        for path in ["\u{0}"] + request.policies { add(content(path)) }
        for name in request.via { add(name) }
        return hash.finalize().hexadecimal
    }

    /// Returns the digest of a source's present state: 64 hexadecimal digits.
    ///
    /// Stores made by one program in one way have equal sizes and headers. Inode and time of change tell them apart.
    static func source(_ path: String) throws -> String {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw MigrationError("store.notAFile", .noInput, "The store is not a regular file", at: path)
        }
        let fingerprint = try StoreFingerprint.take(path: PathIdentity.canonical(path))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let time = "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        return SHA256.hash(Array(try encoder.encode(fingerprint)) + Array(time.utf8)).hexadecimal
    }

    /// Returns the digest of a destination's size and header; nil if there is no destination.
    static func result(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, let header = try? InputFile.beginning(of: path, count: 100) else { return nil }
        return SHA256.hash(Array("\(status.st_size):".utf8) + header).hexadecimal
    }

    /// Returns the digest of a model, a mapping model or a library: of all files below the path.
    private func content(_ path: String) -> String {
        if let known = files.withLock({ $0[path] }) { return known }
        // In Bundle.xcdatamodeld:Version, the text after the colon names a version inside the folder.
        let file = access(path, F_OK) == 0 ? path : path.lastIndex(of: ":").map { String(path[..<$0]) } ?? path
        var hash = SHA256()
        hash.update(path.hasPrefix(file) ? String(path.dropFirst(file.count)) : "")
        if (try? InputFile.isDatabase(file)) == true {
            hash.update((try? Self.source(file)) ?? "")
        } else {
            for name in Self.files(beneath: file) {
                hash.update("\(name)\u{0}")
                if let bytes = try? FileBytes.read(name.isEmpty ? file : "\(file)/\(name)", most: .max) {
                    hash.update("\(bytes.count)\u{0}")
                    hash.update(bytes)
                }
            }
        }
        let digest = hash.finalize().hexadecimal
        files.withLock { $0[path] = digest }
        return digest
    }

    /// Returns the relative paths of a folder's files in order; for a file, one empty path.
    private static func files(beneath path: String) -> [String] {
        guard InputFile.isFolder(path), let names = FileManager.default.enumerator(atPath: path) else { return [""] }
        var found: [String] = []
        while let name = names.nextObject() as? String {
            if !InputFile.isFolder("\(path)/\(name)") { found.append(name) }
        }
        return found.sorted()
    }
}
