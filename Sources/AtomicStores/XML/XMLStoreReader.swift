import Archives
import CoreDataStore
import Diagnostics

/// Takes the objects of an XML store one after the other, in the words of the file.
protocol XMLObjectHandler: AnyObject {
    /// Begins an object.
    func begin(type: String, id: Int64) throws(MigrationError)
    /// Takes an attribute with its text, without escapes. The bytes are valid during the call.
    func attribute(_ name: String, word: String, text: UnsafeRawBufferPointer) throws(MigrationError)
    /// Begins a relationship; the ids of its objects follow.
    func relationship(_ name: String, counts: String, destination: String) throws(MigrationError)
    func target(_ id: Int64) throws(MigrationError)
    /// Ends the object.
    func end() throws(MigrationError)
}

/// Reads an XML store of Core Data: its header, then its objects.
///
/// Memory: a window of the file, the metadata, and the largest value.
final class XMLStoreReader {
    /// The most bytes of a value.
    private let valueLimit: Int
    private let tokens: XMLTokens
    private var text: [UInt8] = []

    init(
        path: String, valueLimit: Int = 16 << 20,
        checkCancelled: @escaping () throws(MigrationError) -> Void = {}
    ) throws(MigrationError) {
        self.valueLimit = valueLimit
        tokens = XMLTokens(try ByteWindow(path: path, checkCancelled: checkCancelled))
    }

    /// Reads the header.
    func header() throws(MigrationError) -> AtomicStoreHeader {
        guard try tokens.next() == .start("database") else { throw tokens.malformed("its root is no <database>") }
        try passAttributes()
        guard try tokens.next() == .start("databaseInfo") else {
            throw tokens.malformed("it does not begin with <databaseInfo>")
        }
        try passAttributes()
        var header = AtomicStoreHeader(
            format: .xml, metadata: StoreMetadata(uuid: "", propertyList: [:]), highestID: 0)
        while case .start(let name) = try tokens.next() {
            try passAttributes()
            switch name {
            case "UUID": header.metadata.uuid = try simpleText(of: name).uppercased()
            case "nextObjectID": header.highestID = Int64(try simpleText(of: name)) ?? 0
            case "version": _ = try simpleText(of: name)
            case "metadata": header.metadata.propertyList = try metadata()
            default: throw tokens.malformed("the element \(name) is no part of <databaseInfo>")
            }
        }
        guard !header.metadata.uuid.isEmpty else { throw tokens.malformed("it has no <UUID>") }
        return header
    }

    private func metadata() throws(MigrationError) -> [String: PropertyListValue] {
        guard case .start(let name) = try tokens.next() else { return [:] }
        guard name == "plist" else { throw tokens.malformed("its metadata are no property list") }
        try passAttributes()
        var list: [String: PropertyListValue] = [:]
        if case .start(let kind) = try tokens.next() {
            try passAttributes()
            guard case .dictionary(let entries) = try XMLPropertyList.read(kind, from: tokens) else {
                throw tokens.malformed("its metadata are no dictionary")
            }
            list = entries.byKey
            guard try tokens.next() == .end("plist") else { throw tokens.malformed("its metadata do not end") }
        }
        guard try tokens.next() == .end("metadata") else { throw tokens.malformed("its metadata do not end") }
        return list
    }

    private func passAttributes() throws(MigrationError) {
        while try tokens.nextAttribute() != nil { _ = try tokens.attributeValue() }
    }

    private func simpleText(of name: String) throws(MigrationError) -> String {
        try tokens.readText(into: &text, isEscaped: false, limit: 4096)
        guard try tokens.next() == .end(name) else { throw tokens.malformed("\(name) is no text") }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: Objects

    /// Passes all objects to a handler, after ``header()``. An error of the handler gets the file and the line.
    func objects(_ handler: some XMLObjectHandler) throws(MigrationError) {
        while case .start(let name) = try tokens.next() {
            guard name == "object" else { throw tokens.malformed("there is an element \(name) among the objects") }
            try object(handler)
        }
        guard try tokens.next() == .finish else { throw tokens.malformed("something follows the end of <database>") }
    }

    /// Runs a call of the handler.
    private func placing(_ body: () throws(MigrationError) -> Void) throws(MigrationError) {
        do { try body() } catch {
            guard error.category == .data, error.context.path == nil else { throw error }
            let window = tokens.window
            throw error.inside(.init(path: window.path, line: window.line(at: window.offset)))
        }
    }

    private func object(_ handler: some XMLObjectHandler) throws(MigrationError) {
        var type: String?
        var id: Int64?
        while let name = try tokens.nextAttribute() {
            switch name {
            case "type": type = try tokens.attributeValue()
            case "id":
                try tokens.forEachID { found throws(MigrationError) in
                    guard id == nil else { throw tokens.malformed("an object has two ids") }
                    id = found
                }
            default: _ = try tokens.attributeValue()
            }
        }
        guard let type, let id else { throw tokens.malformed("an object has no type or no id") }
        try placing { () throws(MigrationError) in try handler.begin(type: type, id: id) }
        while case .start(let name) = try tokens.next() {
            switch name {
            case "attribute": try attribute(handler)
            case "relationship": try relationship(handler)
            default: throw tokens.malformed("there is an element \(name) in an object")
            }
        }
        try placing { () throws(MigrationError) in try handler.end() }
    }

    private func attribute(_ handler: some XMLObjectHandler) throws(MigrationError) {
        var (name, word): (String?, String) = (nil, "")
        while let key = try tokens.nextAttribute() {
            let value = try tokens.attributeValue()
            if key == "name" { name = value } else if key == "type" { word = value }
        }
        guard let name else { throw tokens.malformed("an attribute has no name") }
        try tokens.readText(into: &text, isEscaped: true, limit: valueLimit)
        guard try tokens.next() == .end("attribute") else { throw tokens.malformed("an attribute has elements in it") }
        try placing { () throws(MigrationError) in
            let result = text.withUnsafeBytes { bytes in
                Result { () throws(MigrationError) in try handler.attribute(name, word: word, text: bytes) }
            }
            try result.get()
        }
    }

    private func relationship(_ handler: some XMLObjectHandler) throws(MigrationError) {
        var (name, counts, destination): (String?, String, String) = (nil, "", "")
        var isBegun = false
        func begin() throws(MigrationError) {
            guard !isBegun else { return }
            guard let name else { throw tokens.malformed("a relationship has no name before its ids") }
            try placing { () throws(MigrationError) in
                try handler.relationship(name, counts: counts, destination: destination)
            }
            isBegun = true
        }
        while let key = try tokens.nextAttribute() {
            switch key {
            case "name": name = try tokens.attributeValue()
            case "type": counts = try tokens.attributeValue()
            case "destination": destination = try tokens.attributeValue()
            case "idrefs":
                try begin()
                try tokens.forEachID { id throws(MigrationError) in
                    try placing { () throws(MigrationError) in try handler.target(id) }
                }
            default: _ = try tokens.attributeValue()
            }
        }
        try begin()
        guard try tokens.next() == .end("relationship") else { throw tokens.malformed("a relationship has content") }
    }
}
