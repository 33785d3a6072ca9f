/// Parses comma-separated values: RFC 4180, with any line ends and an optional byte order mark.
struct CommaSeparatedValues {
    /// A row, with the line in which it begins.
    struct Row: Equatable {
        var line: Int
        var fields: [String]
    }

    /// A mistake and its line.
    struct Failure: Error, Equatable {
        var line: Int
        var message: String
    }

    /// Returns the rows of a text. Empty lines are skipped.
    ///
    /// - Throws: ``Failure`` for a quotation without an end, or text beside quotes.
    static func rows(_ text: String) throws(Failure) -> [Row] {
        var rows: [Row] = []
        var fields: [String] = []
        var field: [UInt8] = []
        var line = 1
        var begin = 1
        var isQuoted = false
        var wasQuoted = false
        var hasField = false
        var bytes = Array(text.utf8)[...]
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes = bytes.dropFirst(3) }
        func endField() {
            fields.append(String(decoding: field, as: UTF8.self))
            field.removeAll(keepingCapacity: true)
            wasQuoted = false
        }
        func endRow() {
            if hasField || !fields.isEmpty {
                endField()
                rows.append(Row(line: begin, fields: fields))
            }
            fields = []
            hasField = false
        }
        while let byte = bytes.popFirst() {
            if isQuoted {
                if byte == UInt8(ascii: "\"") {
                    if bytes.first == byte {
                        field.append(byte)
                        bytes.removeFirst()
                    } else {
                        isQuoted = false
                        wasQuoted = true
                    }
                } else {
                    if byte == UInt8(ascii: "\n") { line += 1 }
                    field.append(byte)
                }
                continue
            }
            switch byte {
            case UInt8(ascii: ","):
                endField()
                hasField = true
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if byte == UInt8(ascii: "\r"), bytes.first == UInt8(ascii: "\n") { bytes.removeFirst() }
                endRow()
                line += 1
                begin = line
            case UInt8(ascii: "\"") where field.isEmpty && !wasQuoted:
                isQuoted = true
                hasField = true
            default:
                guard !wasQuoted, byte != UInt8(ascii: "\"") else {
                    throw Failure(line: line, message: "A quoted value has text beside its quotes")
                }
                field.append(byte)
                hasField = true
            }
        }
        guard !isQuoted else { throw Failure(line: begin, message: "A quoted value does not end") }
        endRow()
        return rows
    }
}
