import Diagnostics

// Strings and lists in a saved state.

extension StateWriter {
    /// Writes strings behind their count.
    package mutating func write(texts: [String]) { write(list: texts) { $1.write($0) } }

    /// Writes a string as its UTF-8 bytes, behind their count.
    package mutating func write(_ text: String) { write(bytes: Array(text.utf8)) }

    /// Writes a string or nil.
    package mutating func write(_ text: String?) {
        write(text != nil)
        write(text ?? "")
    }

    /// Writes elements behind their count.
    package mutating func write<Element>(list: [Element], _ body: (Element, inout StateWriter) -> Void) {
        write(list.count)
        for element in list { body(element, &self) }
    }

    /// Writes signed numbers behind their count.
    package mutating func write(integers: [Int]) { write(list: integers) { $1.write($0) } }
    /// Writes keys behind their count.
    package mutating func write(keys: [Int64]) { write(list: keys) { $1.write($0) } }
    /// Writes flags behind their count.
    package mutating func write(flags: [Bool]) { write(list: flags) { $1.write($0) } }

    /// Writes a dictionary of numbers, in the order of its keys.
    package mutating func write(numbers: [String: Int]) { write(byName: numbers) { $1.write($0) } }

    /// Writes a dictionary of strings, in the order of its keys.
    package mutating func write(texts: [String: String]) { write(byName: texts) { $1.write($0) } }

    private mutating func write<Value>(byName values: [String: Value], _ body: (Value, inout StateWriter) -> Void) {
        write(list: values.sorted { $0.key < $1.key }) {
            $1.write($0.key)
            body($0.value, &$1)
        }
    }
}

extension StateReader {
    /// Reads strings behind their count.
    ///
    /// - Throws: `journal.damaged` if there are more than `limit`, or if the bytes end too early; so do the other methods here.
    package mutating func texts(upTo limit: Int) throws(MigrationError) -> [String] {
        try list(upTo: limit) { reader throws(MigrationError) in try reader.text() }
    }

    /// Reads a string.
    ///
    /// - Throws: `journal.damaged`.
    package mutating func text() throws(MigrationError) -> String { String(decoding: try block(), as: UTF8.self) }

    /// Reads a string or nil.
    package mutating func optionalText() throws(MigrationError) -> String? {
        let has = try flag()
        let text = try text()
        return has ? text : nil
    }

    /// Reads a signed number.
    package mutating func signed() throws(MigrationError) -> Int { Int(try integer()) }

    /// Reads elements behind their count.
    package mutating func list<Element>(
        upTo limit: Int = 1 << 24, _ body: (inout StateReader) throws(MigrationError) -> Element
    ) throws(MigrationError) -> [Element] {
        var list: [Element] = []
        // The count is not trusted: an element takes at least one byte, so too large a count ends with an error at the end of
        // the bytes.
        for _ in 0..<(try count(upTo: limit)) { list.append(try body(&self)) }
        return list
    }

    /// Reads signed numbers behind their count.
    package mutating func signedList() throws(MigrationError) -> [Int] {
        try list { reader throws(MigrationError) in try reader.signed() }
    }
    /// Reads keys behind their count.
    package mutating func keys() throws(MigrationError) -> [Int64] {
        try list { reader throws(MigrationError) in try reader.integer() }
    }
    /// Reads flags behind their count.
    package mutating func flags() throws(MigrationError) -> [Bool] {
        try list { reader throws(MigrationError) in try reader.flag() }
    }

    /// Reads a dictionary of numbers.
    package mutating func numbers() throws(MigrationError) -> [String: Int] {
        try byName { reader throws(MigrationError) in try reader.signed() }
    }
    /// Reads a dictionary of strings.
    package mutating func textsByName() throws(MigrationError) -> [String: String] {
        try byName { reader throws(MigrationError) in try reader.text() }
    }

    private mutating func byName<Value>(
        _ body: (inout StateReader) throws(MigrationError) -> Value
    ) throws(MigrationError) -> [String: Value] {
        var values: [String: Value] = [:]
        for _ in 0..<(try count(upTo: 1 << 24)) {
            let name = try text()
            values[name] = try body(&self)
        }
        return values
    }
}
