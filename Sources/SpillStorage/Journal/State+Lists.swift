import Diagnostics

// Texts and lists of a state.

extension StateWriter {
    /// Texts behind their count.
    package mutating func write(texts: [String]) { write(list: texts) { $1.write($0) } }

    /// Writes a text as its bytes in UTF-8, behind their count.
    package mutating func write(_ text: String) { write(bytes: Array(text.utf8)) }

    /// Writes a text that may be missing.
    package mutating func write(_ text: String?) {
        write(text != nil)
        write(text ?? "")
    }

    /// Writes elements behind their count.
    package mutating func write<Element>(list: [Element], _ body: (Element, inout StateWriter) -> Void) {
        write(list.count)
        for element in list { body(element, &self) }
    }

    /// Writes numbers behind their count; they may be below zero.
    package mutating func write(integers: [Int]) { write(list: integers) { $1.write($0) } }
    /// The same.
    package mutating func write(keys: [Int64]) { write(list: keys) { $1.write($0) } }
    /// The same for flags.
    package mutating func write(flags: [Bool]) { write(list: flags) { $1.write($0) } }

    /// Writes numbers by name, in the names' order.
    package mutating func write(numbers: [String: Int]) { write(byName: numbers) { $1.write($0) } }

    /// The same for texts.
    package mutating func write(texts: [String: String]) { write(byName: texts) { $1.write($0) } }

    private mutating func write<Value>(byName values: [String: Value], _ body: (Value, inout StateWriter) -> Void) {
        write(list: values.sorted { $0.key < $1.key }) {
            $1.write($0.key)
            body($0.value, &$1)
        }
    }
}

extension StateReader {
    /// Texts behind their count.
    ///
    /// - Throws: `journal.damaged` where there are more than the limit, as the others.
    package mutating func texts(upTo limit: Int) throws(MigrationError) -> [String] {
        try list(upTo: limit) { reader throws(MigrationError) in try reader.text() }
    }

    /// A text.
    ///
    /// - Throws: `journal.damaged`, as the others.
    package mutating func text() throws(MigrationError) -> String { String(decoding: try block(), as: UTF8.self) }

    /// A text that may be missing.
    package mutating func optionalText() throws(MigrationError) -> String? {
        let has = try flag()
        let text = try text()
        return has ? text : nil
    }

    /// A number that may be below zero.
    package mutating func signed() throws(MigrationError) -> Int { Int(try integer()) }

    /// Elements behind their count.
    package mutating func list<Element>(
        upTo limit: Int = 1 << 24, _ body: (inout StateReader) throws(MigrationError) -> Element
    ) throws(MigrationError) -> [Element] {
        var list: [Element] = []
        // No element takes less than a byte; what is claimed beyond ends too early.
        for _ in 0..<(try count(upTo: limit)) { list.append(try body(&self)) }
        return list
    }

    /// Numbers behind their count; they may be below zero.
    package mutating func signedList() throws(MigrationError) -> [Int] {
        try list { reader throws(MigrationError) in try reader.signed() }
    }
    /// The same.
    package mutating func keys() throws(MigrationError) -> [Int64] {
        try list { reader throws(MigrationError) in try reader.integer() }
    }
    /// The same for flags.
    package mutating func flags() throws(MigrationError) -> [Bool] {
        try list { reader throws(MigrationError) in try reader.flag() }
    }

    /// Numbers by name.
    package mutating func numbers() throws(MigrationError) -> [String: Int] {
        try byName { reader throws(MigrationError) in try reader.signed() }
    }
    /// The same for texts.
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
