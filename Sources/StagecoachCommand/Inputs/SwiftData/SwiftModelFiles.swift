import Diagnostics
import Glibc
import SwiftTokens

/// The Swift sources that an argument names: files and folders, joined by commas.
enum SwiftModelFiles {
    /// The folders whose sources are not those of an app's model.
    private static let passedOver: Set<String> = ["build", "DerivedData", "Pods", "Carthage", "Tests", "node_modules"]

    /// Finds the sources of an argument.
    ///
    /// A folder gives all Swift files in it and below, without hidden folders, those of builds and packages, and those whose
    /// names end with `Tests`.
    ///
    /// - Returns: nil if a part of the argument is neither a Swift file nor a folder with one.
    /// - Throws: the errors of ``SourceFolder/files(in:endings:isPassedOver:)``.
    static func find(_ argument: String) throws(MigrationError) -> [String]? {
        var paths: Set<String> = []
        for part in argument.split(separator: ",").map(String.init) {
            let found = try files(at: part)
            if found.isEmpty { return nil }
            paths.formUnion(found)
        }
        return paths.isEmpty ? nil : paths.sorted()
    }

    private static func files(at path: String) throws(MigrationError) -> [String] {
        var root = path
        while root.count > 1, root.hasSuffix("/") { root.removeLast() }
        let kind = try SourceFolder.kind(of: root)
        guard kind == S_IFDIR else { return kind == S_IFREG && path.hasSuffix(".swift") ? [path] : [] }
        // A package's sources stand below Sources.
        if try SourceFolder.kind(of: root + "/Package.swift") == S_IFREG,
            try SourceFolder.kind(of: root + "/Sources") == S_IFDIR
        {
            root += "/Sources"
        }
        return try SourceFolder.files(in: root, endings: ["swift"]) { passedOver.contains($0) || $0.hasSuffix("Tests") }
    }
}
