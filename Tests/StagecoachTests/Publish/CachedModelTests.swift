import Archives
import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

/// Compares the archives of two cached models object by object, from their roots on.
private struct ArchiveComparison {
    private var seen: Set<[Int]> = []
    private(set) var differences: [String] = []

    /// Fields in which a written cache may differ: a list is an array or a mutable one, places for indexed properties may be
    /// given by name or by a proxy, what old frameworks leave out.
    private static let lenient: Set<String> = ["NSReferenceID"]

    mutating func compare(_ one: ArchivedValue, _ other: ArchivedValue, _ place: String) throws {
        guard differences.count < 20 else { return }
        switch (one, other) {
        case (.null, .null): break
        case (.plain(let first), .plain(let second)):
            if first != second, !Self.areEqual(first, second) { differences.append("\(place): \(first) and \(second)") }
        case (.object(let first), .object(let second)): try compare(first, second, place)
        case (.null, .object(let list)), (.object(let list), .null):
            // Old frameworks leave out lists that are empty.
            let count = try ArchivedValue.object(list).elements()?.count ?? ArchivedValue.object(list).entries()?.count
            if count != 0 { differences.append("\(place): only one has \(list.className), of \(count ?? 1)") }
        default:
            if let text = try name(one), try text == name(other) { return }
            differences.append("\(place): \(one.kindName) and \(other.kindName)")
        }
    }

    /// A Boolean default is 0 or 1, or an NSNumber of a Boolean.
    private static func areEqual(_ one: PropertyListValue, _ other: PropertyListValue) -> Bool {
        switch (one, other) {
        case (.boolean(let flag), .integer(let number)), (.integer(let number), .boolean(let flag)):
            number == (flag ? 1 : 0)
        case (.integer(let number), .real(let real)), (.real(let real), .integer(let number)): Double(number) == real
        default: false
        }
    }

    /// A property's or a text's name.
    private func name(_ value: ArchivedValue) throws -> String? {
        if let text = try value.string() { return text }
        guard let object = value.object else { return nil }
        if object.isKind(of: "_NSPropertyDescriptionProxy") {
            return try object.object("NSUnderlyingProperty")?.string("NSPropertyName")
        }
        return try object.string("NSPropertyName")
    }

    private mutating func compare(_ one: ArchivedObject, _ other: ArchivedObject, _ place: String) throws {
        guard seen.insert([one.uid, other.uid]).inserted else { return }
        if let first = try ArchivedValue.object(one).entries(), let second = try ArchivedValue.object(other).entries() {
            func keyed(_ entries: [(key: ArchivedValue, value: ArchivedValue)]) throws -> [String: ArchivedValue] {
                Dictionary(try entries.map { (try $0.key.string() ?? "?", $0.value) }, uniquingKeysWith: { $1 })
            }
            let (left, right) = (try keyed(first), try keyed(second))
            for key in Set(left.keys).union(right.keys).sorted() {
                try compare(left[key] ?? .null, right[key] ?? .null, "\(place).\(key)")
            }
            return
        }
        if let first = try ArchivedValue.object(one).elements(), let second = try ArchivedValue.object(other).elements()
        {
            var (left, right) = (first, second)
            if one.isKind(of: "NSSet") {
                func sorted(_ values: [ArchivedValue]) throws -> [ArchivedValue] {
                    try values.map { (try $0.string() ?? $0.object?.string("NSEntityName") ?? "", $0) }
                        .sorted { $0.0 < $1.0 }.map(\.1)
                }
                (left, right) = (try sorted(left), try sorted(right))
            }
            guard left.count == right.count else {
                differences.append("\(place): \(left.count) and \(right.count) members")
                return
            }
            for (number, pair) in zip(left, right).enumerated() { try compare(pair.0, pair.1, "\(place)[\(number)]") }
            return
        }
        if let first = try ArchivedValue.object(one).string(), try first == ArchivedValue.object(other).string() {
            return
        }
        if try name(.object(one)) != nil, one.className != other.className {
            if try name(.object(one)) == name(.object(other)) { return }
        }
        guard one.className == other.className else {
            differences.append("\(place): \(one.className) and \(other.className)")
            return
        }
        for key in Set(one.keys).union(other.keys).subtracting(Self.lenient).sorted() {
            try compare(try one.value(key), try other.value(key), "\(place).\(key)")
        }
    }
}

@Suite(
    "Cached models of copies, object by object",
    .enabled(if: SharedStores.isPresent, "the folder of shared stores is absent"))
struct CachedModelTests {
    private func cache(_ path: String) throws -> KeyedArchive? {
        let statement = try Connection(path: path, flags: SQLITE_OPEN_READONLY).prepare(
            "SELECT Z_CONTENT FROM Z_MODELCACHE")
        guard try statement.step(), let content = statement.blob(0) else { return nil }
        return try KeyedArchive(decoding: try Deflate.inflate(content, limit: ModelCache.inflatedLimit))
    }

    @Test(
        "A copy to the store's own model caches it whole",
        arguments: [
            "coredataplus", "metacocktails", "cartkit", "truthsocial", "cyface", "beam", "ddg-bookmarks",
            "objcio-moody",
        ])
    func copies(family: String) throws {
        let stores = SharedStores.paths(in: family, withExtensions: ["sqlite", "store", "moody"])
        #expect(!stores.isEmpty)
        for url in stores {
            let folder = try TemporaryFolder()
            let source = try folder.copyStore(url)
            let store = try SourceStore(
                path: source, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
            guard let model = try store.cachedModel() else { continue }
            var options = MigrationOptions()
            options.unknownHashes = .omit
            options.strictValidation = false
            _ = try Migration(
                from: source, model: model, mapping: try .inferred(from: model, to: model),
                to: folder.file("copy.sqlite"), model: model, options: options
            ).run()
            guard let old = try cache(source), let new = try cache(folder.file("copy.sqlite")) else { continue }
            var comparison = ArchiveComparison()
            try comparison.compare(try old.topValue(), try new.topValue(), "model")
            #expect(comparison.differences == [], "\(url.lastPathComponent)")
        }
    }
}
