import CoreDataStore
import Diagnostics
import ManagedModel
import SwiftSources
import SwiftTokens

/// The models that an argument names by Swift sources: `Sources/Models`, `Models.swift,Kinds.swift`, `Sources/Models:SchemaV2`.
struct SwiftModelArgument {
    /// The argument without a version.
    let path: String
    let versions: SourceModelVersions
    /// The version that the argument names; nil for the newest.
    let version: String?

    /// Reads the sources that an argument names, and makes their versions known to ``ModelLocator``.
    ///
    /// - Parameter known: the hashes by which entities are checked.
    /// - Returns: nil if the argument names no Swift sources.
    /// - Throws: the errors of ``SwiftSourceModels``, of a version only where it is used.
    @discardableResult
    static func admit(_ argument: String?, known: [KnownHashes] = []) throws(MigrationError) -> SwiftModelArgument? {
        guard let argument, !MergedModels.isName(argument), let (path, version, files) = try sources(argument) else {
            return nil
        }
        let name = PathIdentity.name(of: path)
        let texts = try files.map { path throws(MigrationError) in (path, try SourceFolder.text(of: path)) }
        let models = SwiftSourceModels(texts, name: name.hasSuffix(".swift") ? String(name.dropLast(6)) : name)
        // A folder without a class may be anything else.
        guard models.hasModels || argument.contains(".swift") else { return nil }
        let versions = try models.versions(known: known)
        func derived(_ version: SourceModelVersion) -> DerivedBundle.Version {
            let short = version.name.split(separator: ".").last.map(String.init)
            return .init(
                name: version.name, aliases: [short, version.identifier].compactMap { $0 }, model: version.model)
        }
        DerivedBundle.register(
            DerivedBundle(
                path: path, versions: versions.versions.map(derived), others: versions.others.map(derived)))
        return SwiftModelArgument(path: path, versions: versions, version: version)
    }

    private static func sources(
        _ argument: String
    ) throws(MigrationError) -> (path: String, version: String?, files: [String])? {
        let whole = PathIdentity.withoutSlash(argument)
        guard ModelLocator.form(ofName: whole) == nil, try !InputFile.isDatabase(whole) else { return nil }
        if let files = try SwiftModelFiles.find(whole) { return (whole, nil, files) }
        guard let colon = whole.lastIndex(of: ":") else { return nil }
        let path = PathIdentity.withoutSlash(String(whole[..<colon]))
        guard ModelLocator.form(ofName: path) == nil, let files = try SwiftModelFiles.find(path) else { return nil }
        return (path, String(whole[whole.index(after: colon)...]), files)
    }

    /// The version that the argument names, else the newest.
    var chosen: SourceModelVersion? { version.map(versions.version(named:)) ?? versions.versions.last }

    /// Returns the last version whose entities all have the hashes of a store.
    func version(of hashes: [String: [UInt8]]) -> SourceModelVersion? {
        (versions.others + versions.versions).last { version in
            guard !hashes.isEmpty, case .success(let model) = version.model else { return false }
            return VersionHash.entityHashes(of: model).mapValues(\.bytes) == hashes.mapValues(Optional.some)
        }
    }
}

/// The hashes that `--like` names: those of a store, or a list.
enum LikeArgument {
    /// Reads a store's metadata, or a text.
    ///
    /// A text has names of entities and hashes, as 64 hexadecimal digits or in base64, in any order: an entity's name is in its
    /// hash. So a list in a source or in JSON serves too, and the hashes of several versions.
    ///
    /// - Throws: `like.noHashes` (78) if there are none; the errors of reading the file.
    static func load(_ path: String) throws(MigrationError) -> KnownHashes {
        guard try !InputFile.isDatabase(path) else {
            let store = try ModelArgument.open(path)
            let hashes = store.metadata.versionHashes.filter { !$0.value.isEmpty }
            try store.close()
            return KnownHashes(origin: path, hashes: hashes)
        }
        let text = String(decoding: try InputFile.read(path, what: "list of version hashes"), as: UTF8.self)
        let words = Set(text.split { !($0.isLetter || $0.isNumber || "+/=_".contains($0)) }.map(String.init))
        let hashes = Set(words.compactMap(bytes))
        guard !hashes.isEmpty else {
            throw MigrationError(
                "like.noHashes", .configuration, "The file has no version hashes",
                remedy: "Name a store, or a text with the names and the hashes of its entities", at: path)
        }
        return KnownHashes(origin: path, names: words, hashes: hashes)
    }

    /// Returns the 32 bytes of a version hash that is written in hexadecimal or Base64; nil for any other word.
    private static func bytes(_ word: String) -> [UInt8]? {
        let characters = Array(word.utf8)
        if characters.count == 64 {
            let bytes = stride(from: 0, to: 64, by: 2).compactMap {
                UInt8(String(decoding: characters[$0...$0 + 1], as: UTF8.self), radix: 16)
            }
            return bytes.count == 32 ? bytes : nil
        }
        guard characters.count == 44, characters.last == UInt8(ascii: "=") else { return nil }
        return Base64Hash.bytes(word)
    }
}
