import Diagnostics
import Foundation

/// A folder of versions of a model. No file is kept open.
///
/// An `.xcdatamodeld` has a `Version.xcdatamodel` folder per version, and `.xccurrentversion`, which names the current one. A
/// `.momd` has a `Version.mom` file per version, and `VersionInfo.plist`, which names the current one and has the version
/// hashes of all (SampleModel.momd). The `.omo` beside a `.mom` is a private copy of it and is not read.
package struct ModelBundle: Sendable {
    /// The form of a folder: its extension, that of its versions, and its name in messages.
    struct Form: Sendable {
        let suffix: String
        let versionSuffix: String
        let title: String

        static let source = Form(suffix: ".xcdatamodeld", versionSuffix: ".xcdatamodel", title: "bundle")
        static let compiled = Form(suffix: ".momd", versionSuffix: ".mom", title: "compiled bundle")
        static let all = [source, compiled]

        /// Returns the name of a version without its extension.
        func bare(_ name: String) -> String {
            name.hasSuffix(versionSuffix) ? String(name.dropLast(versionSuffix.count)) : name
        }
    }

    static let contentsName = "contents"
    /// The extension of Core Data's private form of a compiled model.
    static let optimizedSuffix = ".omo"

    /// The path of the folder.
    package let path: String
    /// The names of the versions without extension, sorted with numbers in them compared as numbers.
    package let versions: [String]
    /// The content of `VersionInfo.plist`; nil if there is none.
    package let info: CompiledVersionInfo?
    let isCompiled: Bool
    private var form: Form { isCompiled ? .compiled : .source }

    /// - Parameter path: the folder, whose extension tells its form.
    /// - Throws: `model.notFound` (66) if it is not a folder, `model.noVersion` (78) if it contains no version,
    ///   `model.versionInfo` (78), `model.permission`, `model.unreadable`.
    package init(path: String) throws(MigrationError) {
        self.path = path
        isCompiled = path.hasSuffix(Form.compiled.suffix)
        let form = isCompiled ? Form.compiled : .source
        guard try ModelFile.isFolder(path) else { throw ModelFile.notFound(path) }
        var names: [String] = []
        for name in try ModelFile.names(in: path) where name.hasSuffix(form.versionSuffix) {
            if try ModelFile.kind(at: "\(path)/\(name)") == (isCompiled ? .file : .folder) {
                names.append(form.bare(name))
            }
        }
        versions = names.sorted { $0.compare($1, options: .numeric) == .orderedAscending }
        info = isCompiled ? try CompiledVersionInfo(folder: path) : nil
        if versions.isEmpty {
            throw failure(
                "model.noVersion",
                isCompiled
                    ? "The compiled bundle holds no \(form.versionSuffix) file"
                    : "The bundle holds no version of a model",
                remedy: isCompiled
                    ? "Name the .momd of a built app, or the .xcdatamodeld it is compiled from"
                    : "It should have at least one \(form.versionSuffix) folder")
        }
    }

    /// Returns the path of a version's folder or file.
    package func file(of version: String) -> String { "\(path)/\(version)\(form.versionSuffix)" }

    /// Returns the current version: the one that the folder's file names, or the only one.
    ///
    /// - Throws: `model.currentVersion` (78) if `.xccurrentversion` names none, or the named one does not exist;
    ///   `model.ambiguousVersion` (78) if there are several and none is named. Both name the versions.
    package func currentVersion() throws(MigrationError) -> String {
        let file = "\(path)/.xccurrentversion"
        let hasFile = isCompiled ? false : try ModelFile.isFile(file)
        let name = hasFile ? try Self.currentVersion(in: file).map(form.bare) : info?.currentVersion
        if let name, versions.contains(name) { return name }
        if hasFile || name != nil {
            throw failure(
                "model.currentVersion",
                name.map { "The current version \"\($0)\" is not in the bundle" } ?? "The file names no version",
                remedy: hasFile
                    ? "Write \(path):VERSION, or choose the version in Xcode; the bundle has \(list)" : nil,
                at: hasFile ? file : nil)
        }
        if versions.count == 1 { return versions[0] }
        throw failure(
            "model.ambiguousVersion",
            isCompiled
                ? "The compiled bundle has several versions and names none as the current one"
                : "The bundle has several versions and no .xccurrentversion that names the current one")
    }

    /// Returns the version with a name, given with or without extension.
    ///
    /// - Throws: `model.unknownVersion` (66), naming the existing versions.
    package func version(named name: String) throws(MigrationError) -> String {
        // The name of a version may itself end like this: "X.xcdatamodel" in a folder "X.xcdatamodel.xcdatamodel".
        if versions.contains(name) { return name }
        let bare = form.bare(name)
        guard versions.contains(bare) else {
            throw MigrationError(
                "model.unknownVersion", .noInput, "The \(form.title) has no version \"\(bare)\"",
                remedy: [EditDistance.question(bare, among: versions), "It has \(list)"].compactMap(\.self)
                    .joined(separator: " "), context: .init(path: path))
        }
        return bare
    }

    private func failure(
        _ code: MigrationError.Code, _ message: String, remedy: String? = nil, at place: String? = nil
    ) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy ?? "Write \(path):VERSION; it has \(list)",
            context: .init(path: place ?? path))
    }

    /// The versions, for messages.
    private var list: String { versions.map { "\"\($0)\"" }.joined(separator: ", ") }

    /// Returns the folder name of the current version in an `.xccurrentversion`, an XML property list with one key of
    /// interest; nil if the file does not state it.
    ///
    /// - Throws: the errors of ``XMLSource`` and ``XMLTagParser`` for hostile or malformed XML.
    private static func currentVersion(in file: String) throws(MigrationError) -> String? {
        // Property lists have a document type, but entities in it are still refused.
        let source = try XMLSource(try ModelFile.read(file), path: file, allowsDocumentType: true)
        return try XMLTagParser.parse(source, into: CurrentVersionHandler()).name
    }
}

/// Reads the string that follows the key `_XCCurrentVersionName` in the outermost dictionary of a property list.
private final class CurrentVersionHandler: XMLTagHandler {
    private(set) var name: String?
    private var open: [String] = []
    private var piece = ""
    private var key: String?

    func open(_ tag: XMLTag) throws(MigrationError) {
        open.append(tag.name)
        piece = ""
    }

    func text(_ piece: String) { self.piece += piece }

    func close() throws(MigrationError) {
        let place = open.joined(separator: "/")
        open.removeLast()
        if place == "plist/dict/string", key == "_XCCurrentVersionName", !piece.isEmpty { name = piece }
        key = place == "plist/dict/key" ? piece : nil
    }
}
