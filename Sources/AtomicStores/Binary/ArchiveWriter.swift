import Archives
import Diagnostics

/// Writes a keyed archive of any size, object by object.
///
/// A binary property list numbers its objects, and collections name their members by number. Each object is written when it
/// is added, its members before it. Two lists are written at the end and wait in files without a name: the places of all
/// objects, and the numbers of those that are the archive's own.
///
/// Memory: a buffer for each file, and a number for each text that is shared.
final class ArchiveWriter {
    private let output: FileOutput
    /// The place in the file at which the archive begins.
    private let start: Int
    private let offsets: FileOutput
    private let objects: NumberList
    /// The number of objects in the property list.
    private var count = 0
    /// The numbers of field names and names of classes, and those of the UIDs of classes and shared texts.
    private var names: [String: Int] = [:]
    private var classes: [String: Int] = [:]
    private var texts: [String: Int] = [:]

    init(_ output: FileOutput) throws(MigrationError) {
        self.output = output
        start = output.length
        offsets = try output.spool("offsets")
        objects = NumberList(file: try output.spool("objects"))
        try output.write(Array("bplist00".utf8))
        _ = try archive(try leaf(.string("$null")))
    }

    // MARK: The property list

    private func add(_ object: PropertyListBytes) throws(MigrationError) -> Int {
        // The numbers have four bytes.
        guard count < Int(UInt32.max) else {
            throw MigrationError(
                "store.tooManyObjects", .data, "The store has more objects and values than a binary store can name",
                remedy: "Make a store of type SQLite")
        }
        var place = PropertyListBytes()
        place.append(UInt64(output.length - start), width: 8)
        try offsets.write(place.bytes)
        try output.write(object.bytes)
        count += 1
        return count - 1
    }

    /// Adds a value without members. It returns its number.
    func leaf(_ value: PropertyListValue) throws(MigrationError) -> Int {
        var object = PropertyListBytes()
        object.append(leaf: value)
        return try add(object)
    }

    /// Adds a list of objects by their numbers. It returns its number.
    func array(_ members: some Collection<Int>) throws(MigrationError) -> Int {
        var object = PropertyListBytes()
        object.append(marker: 0xA, count: members.count)
        let number = try add(object)
        try NumberList.write(members, to: output)
        return number
    }

    /// Adds a list of objects whose numbers are in a file.
    func array(_ members: NumberList) throws(MigrationError) -> Int {
        var object = PropertyListBytes()
        object.append(marker: 0xA, count: members.count)
        let number = try add(object)
        try output.append(members.file)
        return number
    }

    private func dictionary(_ fields: [(key: String, number: Int)]) throws(MigrationError) -> Int {
        var members: [Int] = []
        for field in fields { members.append(try name(field.key)) }
        var object = PropertyListBytes()
        object.append(marker: 0xD, count: fields.count)
        let number = try add(object)
        try NumberList.write(members + fields.map(\.number), to: output)
        return number
    }

    private func name(_ text: String) throws(MigrationError) -> Int {
        if let known = names[text] { return known }
        let number = try leaf(.string(text))
        names[text] = number
        return number
    }

    // MARK: The archive

    /// Makes an object of the property list one of the archive. It returns the number of the reference to it, which is the next
    /// object.
    private func archive(_ number: Int) throws(MigrationError) -> Int {
        try objects.append(number)
        return try leaf(.uid(UInt64(objects.count - 1)))
    }

    /// Adds an object with fields. It returns the number of the reference to it.
    func object(
        _ name: KeyedArchiveBuilder.ClassName, _ fields: [(key: String, number: Int)]
    ) throws(MigrationError) -> Int {
        let number = try dictionary(fields + [("$class", try reference(to: name))])
        return try archive(number)
    }

    private func reference(to name: KeyedArchiveBuilder.ClassName) throws(MigrationError) -> Int {
        if let known = classes[name.names[0]] { return known }
        var members: [Int] = []
        for one in name.names { members.append(try self.name(one)) }
        let list = try array(members)
        let number = try archive(try dictionary([("$classname", members[0]), ("$classes", list)]))
        classes[name.names[0]] = number
        return number
    }

    /// Adds a text, or finds it if it was added by this function. It returns the number of the reference to it.
    func text(_ text: String) throws(MigrationError) -> Int {
        if let known = texts[text] { return known }
        let number = try value(.string(text))
        texts[text] = number
        return number
    }

    /// Adds a value with its members. It returns the number of the reference to it.
    func value(_ value: PropertyListValue) throws(MigrationError) -> Int {
        func collection(_ name: String, _ members: [PropertyListValue]) throws(MigrationError) -> Int {
            var numbers: [Int] = []
            for member in members { numbers.append(try self.value(member)) }
            return try object(.init(name), [("NS.objects", try array(numbers))])
        }
        switch value {
        // A bare "$null" is nil.
        case .string("$null"):
            return try object(.init("NSMutableString", "NSString"), [("NS.string", try leaf(value))])
        case .data: return try object(.init("NSMutableData", "NSData"), [("NS.data", try leaf(value))])
        case .date(let seconds): return try object(.init("NSDate"), [("NS.time", try leaf(.real(seconds)))])
        case .array(let members): return try collection("NSArray", members)
        case .set(let members): return try collection("NSSet", members)
        case .dictionary(let entries):
            var (keys, values): ([Int], [Int]) = ([], [])
            for (key, member) in entries.sorted(by: { $0.key < $1.key }) {
                keys.append(try text(key))
                values.append(try self.value(member))
            }
            return try object(
                .init("NSDictionary"), [("NS.keys", try array(keys)), ("NS.objects", try array(values))])
        default: return try archive(try leaf(value))
        }
    }

    /// Ends the archive.
    ///
    /// - Parameters:
    ///   - key: the name of the root.
    ///   - root: the number of the reference to it.
    /// - Returns: the length of the archive.
    func finish(_ key: String, root: Int) throws(MigrationError) -> Int {
        let top = try dictionary([
            ("$version", try leaf(.integer(100_000))), ("$archiver", try leaf(.string("NSKeyedArchiver"))),
            ("$top", try dictionary([(key, root)])), ("$objects", try array(objects)),
        ])
        var trailer = PropertyListBytes()
        // The sizes of a place and of a number.
        for (number, width) in [(8, 7), (4, 1), (count, 8), (top, 8), (output.length - start, 8)] {
            trailer.append(UInt64(number), width: width)
        }
        try output.append(offsets)
        try output.write(trailer.bytes)
        return output.length - start
    }
}

/// Numbers of objects on their way into a list, in a file.
final class NumberList {
    let file: FileOutput
    private(set) var count = 0

    init(file: FileOutput) { self.file = file }

    func append(_ number: Int) throws(MigrationError) {
        try Self.write(CollectionOfOne(number), to: file)
        count += 1
    }

    static func write(_ numbers: some Collection<Int>, to file: FileOutput) throws(MigrationError) {
        var bytes = PropertyListBytes()
        for number in numbers {
            bytes.append(UInt64(number), width: 4)
            guard bytes.bytes.count >= 1 << 16 else { continue }
            try file.write(bytes.bytes)
            bytes = PropertyListBytes()
        }
        try file.write(bytes.bytes)
    }
}
