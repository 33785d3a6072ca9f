import Diagnostics
import Foundation

/// The file of a mapping model, read as a whole: at most ``greatestByteCount``.
package struct MappingFile {
    /// The size above which a file is not read as a mapping model. The largest known one, with two copies of its models, has 4
    /// MB.
    package static let greatestByteCount = 64 << 20

    package let form: MappingForm
    /// The file that was read; for a folder, the file in it.
    package let path: String
    package let bytes: [UInt8]

    /// Reads a file, and determines its form by its first bytes.
    ///
    /// - Parameter path: a JSON file, an `.xcmappingmodel` folder or the XML file in it, or a `.cdm` file.
    /// - Throws: `mapping.notFound`, `mapping.notAFile` (66), `mapping.permission` (77), `mapping.unreadable` (74),
    ///   `mapping.tooLarge`, `mapping.unknownKind` (78).
    package init(path argument: String) throws(MigrationError) {
        var path = argument.withoutTrailingSlashes
        if try Self.status(path).map({ $0.st_mode & S_IFMT == S_IFDIR }) ?? false {
            path += "/" + Self.contentsName
            guard try Self.status(path) != nil else {
                throw MigrationError(
                    "mapping.notFound", .noInput, "The folder holds no \(Self.contentsName), so it is no mapping model",
                    remedy: "Name an .xcmappingmodel folder", context: .init(path: argument))
            }
        }
        self.path = path
        bytes = try Self.read(path)
        form = try Self.form(of: bytes, path: path)
    }

    /// Makes the file that changes alone stand for: inference makes all that they do not say.
    package init(inferringBeside changes: [MappingChange]) {
        (form, path) = (.json, changes.map(\.option).joined(separator: " "))
        bytes = Array(MappingDocument.inferringAll.utf8)
    }

    /// The name of the file in an `.xcmappingmodel` folder.
    static let contentsName = "xcmapping.xml"

    /// Tells whether a path's name, or a file's first bytes, are those of a mapping model. Nothing else is examined.
    ///
    /// - Parameter beginning: the first bytes of the file; nil for a folder.
    package static func isMappingModel(name path: String, beginning: [UInt8]?) -> Bool {
        let name = path.withoutTrailingSlashes
        if name.hasSuffix(".xcmappingmodel") || name.hasSuffix(".cdm") || name.hasSuffix(contentsName) { return true }
        guard let beginning else { return false }
        return name.hasSuffix(".json") || firstCharacter(beginning) == UInt8(ascii: "{") || isXcodeDatabase(beginning)
    }

    private static func form(of bytes: [UInt8], path: String) throws(MigrationError) -> MappingForm {
        if bytes.starts(with: Array("bplist".utf8)) { return .compiled }
        switch firstCharacter(bytes) {
        case UInt8(ascii: "<"): return .xcode
        case UInt8(ascii: "{"): return .json
        default: break
        }
        if path.hasSuffix(".json") { return .json }
        if path.hasSuffix(".cdm") { return .compiled }
        if path.hasSuffix(".xml") { return .xcode }
        throw MigrationError(
            "mapping.unknownKind", .configuration, "The file is no mapping model",
            remedy: "Name a JSON file that stagecoach infer or convert wrote, an .xcmappingmodel or a .cdm",
            context: .init(path: path))
    }

    /// Returns the first byte that is neither white space nor part of a byte order mark.
    private static func firstCharacter(_ bytes: [UInt8]) -> UInt8? {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        return text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }

    /// Tells whether an XML file's prolog announces the root element of Xcode's mapping models.
    private static func isXcodeDatabase(_ beginning: [UInt8]) -> Bool {
        guard firstCharacter(beginning) == UInt8(ascii: "<") else { return false }
        let text = String(decoding: beginning, as: UTF8.self)
        return text.contains("<!DOCTYPE database") || text.contains("<database")
    }

    /// Returns the status of the file at a path; nil if there is none.
    private static func status(_ path: String) throws(MigrationError) -> stat? {
        do throws(FileBytes.Failure) { return try FileBytes.status(path) } catch {
            throw unreadable(path, error)
        }
    }

    private static func unreadable(_ path: String, _ error: FileBytes.Failure) -> MigrationError {
        if error.number == EACCES || error.number == EPERM {
            return MigrationError(
                "mapping.permission", .permission, "The mapping model may not be read", context: .init(path: path),
                cause: error)
        }
        return MigrationError(
            "mapping.unreadable", .io, "The mapping model cannot be read", context: .init(path: path), cause: error)
    }

    private static func read(_ path: String) throws(MigrationError) -> [UInt8] {
        guard let status = try status(path) else {
            throw MigrationError(
                "mapping.notFound", .noInput, "There is no such mapping model",
                remedy: "Name a .json, .xcmappingmodel or .cdm; stagecoach infer writes one",
                context: .init(path: path))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw MigrationError(
                "mapping.notAFile", .noInput, "The mapping model is not a regular file", context: .init(path: path))
        }
        guard status.st_size <= greatestByteCount else {
            throw MigrationError(
                "mapping.tooLarge", .configuration, "The file is too large for a mapping model",
                context: .init(path: path))
        }
        do throws(FileBytes.Failure) {
            return try FileBytes.read(path, most: greatestByteCount)
        } catch {
            throw unreadable(path, error)
        }
    }
}
