import Archives
import Diagnostics
import Glibc

/// A binary property list in a part of a file, read object by object. Nothing is expanded, and nothing is held.
///
/// Memory: 4 MiB of the file, whatever its size.
final class ArchiveFile {
    /// An object of the property list. Long ones are places in the file.
    enum Item {
        case null
        case boolean(Bool)
        case integer(Int64)
        case real(Double)
        /// Seconds since 2001.
        case date(Double)
        case data(Range<Int>)
        case text(Range<Int>, isUTF16: Bool)
        case uid(Int)
        /// The place of the members' references, and their number.
        case array(at: Int, count: Int)
        /// The place of the keys' references, which those of the values follow, and the number of each.
        case dictionary(at: Int, count: Int)
    }

    private static let pageSize = 64 << 10
    private static let mostPages = 64

    let path: String
    private let descriptor: Int32
    private let part: Range<Int>
    private let trailer: [UInt8]
    private var pages: [UnsafeMutablePointer<UInt8>?]
    private var numbers: [Int]
    private var counts: [Int]

    /// - Parameters:
    ///   - descriptor: the open file, which outlives this.
    ///   - part: the place of the property list.
    init(_ descriptor: Int32, part: Range<Int>, path: String) throws(MigrationError) {
        (self.descriptor, self.part, self.path) = (descriptor, part, path)
        pages = [UnsafeMutablePointer<UInt8>?](repeating: nil, count: Self.mostPages)
        numbers = [Int](repeating: -1, count: Self.mostPages)
        counts = [Int](repeating: 0, count: Self.mostPages)
        guard part.count > 40 else { throw Self.damaged("an archive is too short", path) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let read = SystemCall.uninterrupted { pread(descriptor, &bytes, 32, off_t(part.upperBound - 32)) }
        guard read == 32 else { throw Self.damaged("an archive is cut off", path) }
        trailer = bytes
        guard try bytesEqual("bplist0", at: 0), (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            objectCount > 0, top < objectCount, tableStart >= 8,
            objectCount <= (part.count - 32 - min(tableStart, part.count - 32)) / offsetSize
        else { throw damaged("an archive is no binary property list") }
    }

    deinit { for page in pages { page?.deallocate() } }

    static func damaged(_ what: String, _ path: String) -> MigrationError {
        MigrationError(
            "store.binary", .data, "The binary store is damaged: \(what)", remedy: "Copy the store again",
            context: .init(path: path))
    }

    func damaged(_ what: String) -> MigrationError { Self.damaged(what, path) }

    private var offsetSize: Int { Int(trailer[6]) }
    private var referenceSize: Int { Int(trailer[7]) }
    private func trailing(_ place: Int) -> Int {
        trailer[place..<place + 8].reduce(0) { $0 > Int.max >> 8 ? Int.max : $0 << 8 | Int($1) }
    }
    private var objectCount: Int { trailing(8) }
    /// The number of the property list's root.
    var top: Int { trailing(16) }
    private var tableStart: Int { trailing(24) }

    // MARK: Bytes

    private func byte(at place: Int) throws(MigrationError) -> UInt8 {
        guard place >= 0, place < part.count else { throw damaged("an object lies outside of its archive") }
        let number = place / Self.pageSize
        let slot = number % Self.mostPages
        if numbers[slot] != number { try load(number, into: slot) }
        guard let page = pages[slot], place % Self.pageSize < counts[slot] else { throw damaged("the file is cut off") }
        return page[place % Self.pageSize]
    }

    private func load(_ number: Int, into slot: Int) throws(MigrationError) {
        let page = pages[slot] ?? .allocate(capacity: Self.pageSize)
        pages[slot] = page
        let wanted = min(Self.pageSize, part.count - number * Self.pageSize)
        let read = SystemCall.uninterrupted {
            pread(descriptor, page, wanted, off_t(part.lowerBound + number * Self.pageSize))
        }
        guard read >= 0 else { throw AtomicStoreError.system("read", errno, path) }
        (numbers[slot], counts[slot]) = (number, read)
    }

    private func bytesEqual(_ text: String, at place: Int) throws(MigrationError) -> Bool {
        for (index, expected) in text.utf8.enumerated() where try byte(at: place + index) != expected { return false }
        return true
    }

    private func unsigned(at place: Int, size: Int) throws(MigrationError) -> UInt64 {
        var value: UInt64 = 0
        for index in 0..<size { value = value << 8 | UInt64(try byte(at: place + index)) }
        return value
    }

    /// Reads the bytes of a range.
    func bytes(_ range: Range<Int>, limit: Int) throws(MigrationError) -> [UInt8] {
        guard range.count <= limit else { throw AtomicStoreError.tooLarge(limit, path) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        for place in range { bytes.append(try byte(at: place)) }
        return bytes
    }

    // MARK: Objects

    /// Returns the number of the object that a container's reference leads to.
    func reference(at place: Int, _ index: Int) throws(MigrationError) -> Int {
        let number = try unsigned(at: place + index * referenceSize, size: referenceSize)
        guard number < UInt64(objectCount) else { throw damaged("an object that does not exist is named") }
        return Int(number)
    }

    /// Reads an object.
    func item(_ number: Int) throws(MigrationError) -> Item {
        let offset = try unsigned(at: tableStart + number * offsetSize, size: offsetSize)
        guard offset >= 8, offset < UInt64(tableStart) else { throw damaged("an object lies outside of its archive") }
        var place = Int(offset)
        let marker = try byte(at: place)
        place += 1
        let low = Int(marker & 0x0F)
        switch (marker >> 4, low) {
        case (0, 0): return .null
        case (0, 8): return .boolean(false)
        case (0, 9): return .boolean(true)
        case (1, 0...3): return .integer(Int64(truncatingIfNeeded: try unsigned(at: place, size: 1 << low)))
        case (2, 2):
            return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try unsigned(at: place, size: 4)))))
        case (2, 3): return .real(Double(bitPattern: try unsigned(at: place, size: 8)))
        case (3, 3): return .date(Double(bitPattern: try unsigned(at: place, size: 8)))
        case (8, 0...7):
            let uid = try unsigned(at: place, size: low + 1)
            guard uid <= UInt64(UInt32.max) else { throw damaged("an object that does not exist is named") }
            return .uid(Int(uid))
        case (4, _), (5, _), (6, _), (0xA, _), (0xD, _): break
        default: throw damaged("an object is of the unknown kind \(marker)")
        }
        var count = low
        if low == 0x0F {
            let size = try byte(at: place)
            guard size >> 4 == 1, size & 0x0F <= 3 else { throw damaged("an object has no length") }
            let length = try unsigned(at: place + 1, size: 1 << Int(size & 0x0F))
            guard length < UInt64(part.count) else { throw damaged("an object is longer than its archive") }
            count = Int(length)
            place += 1 + (1 << Int(size & 0x0F))
        }
        let sizes: [UInt8: Int] = [6: 2, 0xA: referenceSize, 0xD: 2 * referenceSize]
        let size = count * (sizes[marker >> 4] ?? 1)
        guard size <= tableStart - place else { throw damaged("an object is longer than its archive") }
        switch marker >> 4 {
        case 4: return .data(place..<place + size)
        case 5, 6: return .text(place..<place + size, isUTF16: marker >> 4 == 6)
        case 0xA: return .array(at: place, count: count)
        default: return .dictionary(at: place, count: count)
        }
    }

    /// Reads a text as UTF-8.
    func text(_ range: Range<Int>, isUTF16: Bool, limit: Int) throws(MigrationError) -> String {
        let bytes = try bytes(range, limit: limit)
        guard isUTF16 else { return String(decoding: bytes, as: UTF8.self) }
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        return String(decoding: units, as: UTF16.self)
    }

    /// Returns the number of a dictionary's value by its key; nil if it has none.
    func value(of key: String, inDictionaryAt place: Int, count: Int) throws(MigrationError) -> Int? {
        for index in 0..<count {
            guard case .text(let range, let isUTF16) = try item(try reference(at: place, index)) else { continue }
            guard range.count <= 256, try text(range, isUTF16: isUTF16, limit: 256) == key else { continue }
            return try reference(at: place, count + index)
        }
        return nil
    }
}
