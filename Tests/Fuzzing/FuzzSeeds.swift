import Archives
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// The first inputs of each target: the repository's fixtures, and small ones of every form.
enum FuzzSeeds {
    /// - Parameter fixtures: the folder `Fixtures`.
    static func write(to folder: String, fixtures: String) throws {
        func put(_ target: FuzzTarget, _ name: String, _ bytes: some Sequence<UInt8>) throws {
            let place = "\(folder)/\(target.rawValue)"
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(fileURLWithPath: "\(place)/\(name)"))
        }
        for target in FuzzTarget.allCases { try put(target, "empty", []) }
        let names = try FileManager.default.subpathsOfDirectory(atPath: fixtures).sorted()
        for (number, name) in names.enumerated() {
            let path = "\(fixtures)/\(name)"
            guard let bytes = FileManager.default.contents(atPath: path), bytes.count < 1 << 18 else { continue }
            if name.hasSuffix("contents") {
                try put(.model, "\(number)", bytes)
                let model = try ModelXMLReader.readModel(bytes, path: path)
                let cached = try ModelCache.encode(model)
                try put(.cache, "whole-\(number)", cached)
                let content = try Deflate.inflate(cached, limit: 1 << 26)
                try put(.cache, "inner-\(number)", content)
                try put(.archive, "\(number)", content)
                // An archive of another kind, from which a compiled mapping model is told apart.
                try put(.compiledMapping, "model-\(number)", content)
                try put(.plist, "\(number)", content)
                try put(.inflate, "\(number)", cached)
            } else if name.hasSuffix(".json") {
                try put(.jsonMapping, "\(number)", bytes)
            } else if name.hasSuffix(".swift"), name.hasPrefix("Swift") {
                try put(.swiftSources, "\(number)", bytes)
            }
        }
        let models = FuzzModels.shared
        let mapping = try MappingModel.inferred(from: models.destination, to: models.destination)
        try put(.jsonMapping, "inferred", try mapping.json().utf8)
        try put(.xmlMapping, "small", xml.utf8)
        for (number, text) in expressions.enumerated() {
            try put(.expression, "\(number)", text.utf8)
            try put(.predicate, "value-\(number)", "\(text) == 1".utf8)
        }
        for (number, text) in predicates.enumerated() { try put(.predicate, "\(number)", text.utf8) }
        for (number, text) in patterns.enumerated() { try put(.pattern, "\(number)", text.utf8) }
        let metadata = PropertyListValue.dictionary([
            "NSStoreType": .string("SQLite"), "NSStoreModelVersionIdentifiers": .array([.string("1")]),
            "NSStoreModelVersionHashes": .dictionary(["Author": .data(Array(repeating: 3, count: 32))]),
            "own": .array([.integer(1), .string("two")]),
        ])
        try put(.metadata, "small", try BinaryPropertyList.encode(metadata))
        try put(.plist, "metadata", try BinaryPropertyList.encode(metadata))
        let shared = Data(repeating: 7, count: 400)
        let objects: [Any] = [
            [shared, shared, NSMutableData(data: shared), NSMutableString(string: "m")] as [Any],
            "text", 1.5, [1, "two", [Data([3])]] as [Any], ["k": Date(timeIntervalSinceReferenceDate: 4)],
            Set(["a", "b"]), NSOrderedSet(array: ["z", NSNull()]), NSMutableArray(array: [UUID()]),
            ["d": Decimal(12.75), "u": URL(fileURLWithPath: "/a")] as [String: Any],
        ]
        for (number, object) in objects.enumerated() {
            let archive = try ObjectArchive.bytes(of: object)
            try put(.object, "\(number)", archive)
            try put(.archive, "object-\(number)", archive)
        }
        for (name, bytes) in try journals(in: folder) { try put(.journal, name, bytes) }
        for (name, bytes) in try FuzzJournals.records() { try put(.record, name, bytes) }
        for form in 0..<4 as Range<UInt8> {
            try put(.state, "small-\(form)", [form + 4])
            try put(.state, "large-\(form)", [form + 200, 0, 9, 0, 1, 0, 40, 1, 7])
        }
        for (name, bytes) in try FuzzBlocks.seeds() { try put(.block, name, bytes) }
        try put(.spill, "small", (0..<40).map { UInt8($0 * 5 % 256) })
        try put(.xmlStore, "small", try FuzzAtomicStores.seed(.xml))
        try put(.binaryStore, "small", try FuzzAtomicStores.seed(.binary))
        let store = "\(folder)/store/small"
        try FileManager.default.createDirectory(atPath: "\(folder)/store", withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: store)
        try FuzzStores.seed(at: store)
    }

    /// Journals of no, one and many records, and one that was not written to its end.
    private static func journals(in folder: String) throws -> [(String, [UInt8])] {
        let path = "\(folder)/run.journal"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let journal = try RunJournal(creating: path)
        var found: [(String, [UInt8])] = []
        for number in 0..<6 {
            let whole = Array(FileManager.default.contents(atPath: path) ?? Data())
            found.append(("of-\(number)", whole))
            found.append(("torn-\(number)", whole.dropLast(3)))
            let body = (0..<number * 20).map { UInt8(truncatingIfNeeded: $0) }
            try journal.append(RunJournal.Record(kind: UInt32(min(number + 1, 2)), body: body))
        }
        return found
    }

    private static let expressions = [
        "$source.name", "($source.a - 32.0) / 1.8", "FUNCTION($manager, 'selector:', 'A', $source.b)",
        "TERNARY(a > 1, 'x', \"y\")", "SUBQUERY(items, $x, $x.price > 3).@count", "{1, 2.5, 'c', nil, TRUE}",
        "CAST('2001', 'NSDate')", "uppercase('abc')", "$a[0] + $b[FIRST] ** 2", "@sum.price", "sum({1, 2}) * -3",
        "max({1, 2}) UNION {3}", "FETCH($r, $c, NO)", "a.b.@distinctUnionOfObjects.c", "bitwiseAnd(3, 5)",
        "'\\u00e9\\n'",
    ]
    private static let predicates = [
        "a > 1 AND NOT b == nil", "name BEGINSWITH[cd] 'a' OR name LIKE '*x?'", "ANY tags.name IN {'a', 'b'}",
        "x BETWEEN {1, 2}", "TRUEPREDICATE", "ALL books.price <= 5", "NONE a.b CONTAINS 'x'", "a MATCHES '[a-z]+'",
        "$x = %@", "SELF.a <> 'b' && !(c < 3)",
    ]
    private static let patterns = [
        "(a+)+$\0aaaaaaaaaaaaaaaaaaaaaaaab", "[A-Z0-9._%+-]+@[a-z]+\\.[a-z]{2,4}\0a@b.cd", "(?i)^(a|b)*?c\0ABC",
        "(\\d{1,3}\\.){3}\\d\0127.0.0.1", "\\p{L}+\0é", "(a)(b)\\1\0aba", "x{2,}|y{0,1000}\0xxxx",
    ]
    private static let xml = """
        <?xml version="1.0"?><!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
        <database><databaseInfo><version>134481920</version><UUID>A</UUID><nextObjectID>105</nextObjectID></databaseInfo>
        <object type="XDDEVMAPPINGMODEL" id="z102"><attribute name="sourcemodelpath" type="string">a</attribute>
        <relationship name="entitymappings" type="0/0" destination="XDDEVENTITYMAPPING" idrefs="z103"></relationship></object>
        <object type="XDDEVENTITYMAPPING" id="z103"><attribute name="name" type="string">AuthorToAuthor</attribute>
        <attribute name="sourcename" type="string">Author</attribute><attribute name="destinationname" type="string">Author</attribute>
        <attribute name="mappingtypename" type="string">Undefined</attribute><attribute name="autogenerateexpression" type="bool">1</attribute>
        <relationship name="mappingmodel" type="1/1" destination="XDDEVMAPPINGMODEL" idrefs="z102"></relationship>
        <relationship name="attributemappings" type="0/0" destination="XDDEVATTRIBUTEMAPPING" idrefs="z104"></relationship></object>
        <object type="XDDEVATTRIBUTEMAPPING" id="z104"><attribute name="name" type="string">name</attribute>
        <attribute name="valueexpression" type="string">$source.name</attribute>
        <relationship name="entitymapping" type="1/1" destination="XDDEVENTITYMAPPING" idrefs="z103"></relationship></object></database>
        """
}
