import Diagnostics

/// A value whose fields are written and read by one function, so that the two cannot differ.
package protocol StateCodable {
    /// Makes the value into which fields are read.
    init()

    /// Writes or reads all fields.
    ///
    /// - Throws: `journal.damaged`, only when reading.
    mutating func code(with coder: inout StateCoder) throws(MigrationError)
}

/// Writes the fields of a value to a state, or reads them from one, in the same order.
package struct StateCoder {
    var writer = StateWriter()
    var reader = StateReader([])
    /// False if the coder writes.
    package let isReading: Bool

    /// Makes a coder that writes.
    ///
    /// - Parameter capacity: the expected number of bytes.
    package init(capacity: Int = 0) {
        isReading = false
        writer = StateWriter(capacity: capacity)
    }

    /// Makes a coder that reads what another one wrote.
    package init(reading bytes: [UInt8]) {
        isReading = true
        reader = StateReader(bytes)
    }

    /// The bytes written.
    package var bytes: [UInt8] { writer.bytes }

    /// Checks that all bytes were read.
    package func finish() throws(MigrationError) { try reader.finish() }

    /// Returns the bytes of a value.
    package static func bytes(of value: some StateCodable, capacity: Int = 1024) -> [UInt8] {
        var coder = StateCoder(capacity: capacity)
        var value = value
        do { try value.code(with: &coder) } catch { preconditionFailure("only reading throws") }
        return coder.bytes
    }

    /// Reads a value.
    ///
    /// - Throws: `journal.damaged`.
    package static func value<Value: StateCodable>(_: Value.Type, from bytes: [UInt8]) throws(MigrationError) -> Value {
        var coder = StateCoder(reading: bytes)
        var value = Value()
        try value.code(with: &coder)
        try coder.finish()
        return value
    }

    /// Writes or reads a field.
    package mutating func code(_ value: inout some StateCodable) throws(MigrationError) { try value.code(with: &self) }

    /// Writes or reads fields of a value, in the order given.
    package mutating func code<Root, each Field: StateCodable>(
        _ value: inout Root, _ fields: repeat WritableKeyPath<Root, each Field>
    ) throws(MigrationError) {
        for field in repeat each fields { try code(&value[keyPath: field]) }
    }

    /// Writes or reads a count, which must not exceed a bound.
    package mutating func code(_ count: inout Int, upTo limit: Int) throws(MigrationError) {
        if isReading { count = try reader.count(upTo: limit) } else { writer.write(count) }
    }

    /// Writes or reads objects that are made when they are read.
    ///
    /// - Parameters:
    ///   - limit: the most objects that are read.
    ///   - body: writes an object; for nil it makes one, reads its fields, and returns it.
    package mutating func code<Object>(
        objects: inout [Object], upTo limit: Int,
        _ body: (inout StateCoder, Object?) throws(MigrationError) -> Object
    ) throws(MigrationError) {
        var count = objects.count
        try code(&count, upTo: limit)
        let known = objects
        if isReading { objects = [] }
        for place in 0..<count {
            let object = try body(&self, isReading ? nil : known[place])
            if isReading { objects.append(object) }
        }
    }

    /// Writes or reads bytes behind their count.
    package mutating func code(bytes: inout [UInt8]) throws(MigrationError) {
        if isReading { bytes = try reader.block() } else { writer.write(bytes: bytes) }
    }

    /// Writes or reads bytes, or nil.
    package mutating func code(bytes: inout [UInt8]?) throws(MigrationError) {
        try code(optional: &bytes, empty: []) { coder, bytes throws(MigrationError) in try coder.code(bytes: &bytes) }
    }

    /// Writes or reads a word of an enumeration.
    package mutating func code<Word: RawRepresentable<String>>(word: inout Word) throws(MigrationError) {
        var text = word.rawValue
        try code(&text)
        guard let known = Word(rawValue: text) else { throw StateReader.damaged("the word \(text)") }
        word = known
    }

    /// Writes or reads a value or nil.
    ///
    /// - Parameters:
    ///   - empty: a value into which fields are read.
    ///   - body: writes or reads the fields of the value.
    package mutating func code<Value>(
        optional value: inout Value?, empty: @autoclosure () -> Value,
        _ body: (inout StateCoder, inout Value) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        var isPresent = value != nil
        try code(&isPresent)
        guard isPresent else {
            value = nil
            return
        }
        var known = value ?? empty()
        try body(&self, &known)
        value = known
    }

    /// Writes or reads elements.
    ///
    /// - Parameters:
    ///   - empty: an element into which fields are read.
    ///   - body: writes or reads the fields of an element.
    package mutating func code<Element>(
        list: inout [Element], empty: Element,
        _ body: (inout StateCoder, inout Element) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        // The count is not trusted: an element takes at least one byte, so too large a count ends with an error at the end of
        // the bytes.
        try code(objects: &list, upTo: .max) { coder, known throws(MigrationError) in
            var element = known ?? empty
            try body(&coder, &element)
            return element
        }
    }
}

extension UInt64: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        if coder.isReading { self = try coder.reader.word() } else { coder.writer.write(self) }
    }
}

extension Int64: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        if coder.isReading { self = try coder.reader.integer() } else { coder.writer.write(self) }
    }
}

extension Int: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        if coder.isReading { self = Int(try coder.reader.integer()) } else { coder.writer.write(self) }
    }
}

extension UInt32: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        if coder.isReading { self = try coder.reader.page() } else { coder.writer.write(self) }
    }
}

extension Bool: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        if coder.isReading { self = try coder.reader.flag() } else { coder.writer.write(self) }
    }
}

extension Double: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        var bits = bitPattern
        try bits.code(with: &coder)
        self = Double(bitPattern: bits)
    }
}

extension String: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        if coder.isReading { self = try coder.reader.text() } else { coder.writer.write(self) }
    }
}

extension Optional: StateCodable where Wrapped: StateCodable {
    package init() { self = nil }

    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(optional: &self, empty: Wrapped()) { coder, value throws(MigrationError) in
            try value.code(with: &coder)
        }
    }
}

extension Array: StateCodable where Element: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(list: &self, empty: Element()) { coder, element throws(MigrationError) in
            try element.code(with: &coder)
        }
    }
}

extension Dictionary: StateCodable where Key: StateCodable & Comparable, Value: StateCodable {
    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        var keys = keys.sorted()
        try keys.code(with: &coder)
        for key in keys {
            var value = self[key] ?? Value()
            try value.code(with: &coder)
            self[key] = value
        }
    }
}
