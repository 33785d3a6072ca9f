import Foundation
import Glibc
import ManagedModel

/// The texts of attribute values in XML stores, for the types whose text is known from real files.
enum XMLValue {
    /// The word for a type in a file; nil if no real file shows how its values are written.
    static func word(of type: AttributeType) -> String? {
        switch type {
        case .integer16: "int16"
        case .integer32: "int32"
        case .integer64: "int64"
        case .float: "float"
        case .string: "string"
        case .boolean: "bool"
        case .date: "date"
        case .binaryData: "binary"
        case .undefined, .decimal, .double, .uuid, .uri, .transformable, .objectID, .composite: nil
        }
    }

    /// The value of a text of a type whose values are numbers; nil if the text is none of them.
    static func number(_ text: UnsafeRawBufferPointer, _ type: AttributeType) -> ObjectIntake.Value? {
        switch type {
        case .integer16: integer(text, Int64(Int16.min)...Int64(Int16.max))
        case .integer32: integer(text, Int64(Int32.min)...Int64(Int32.max))
        case .integer64: integer(text, Int64.min...Int64.max)
        case .boolean: integer(text, 0...1)
        case .date, .float: real(text).map { .real($0) }
        default: nil
        }
    }

    private static func integer(_ text: UnsafeRawBufferPointer, _ range: ClosedRange<Int64>) -> ObjectIntake.Value? {
        guard text.count <= 20, let value = Int64(String(decoding: text, as: UTF8.self)), range.contains(value) else {
            return nil
        }
        return .integer(value)
    }

    /// Reads a decimal number. A Float is read as the Double nearest to its text, as Core Data's own stores keep it.
    private static func real(_ text: UnsafeRawBufferPointer) -> Double? {
        let isPlain = text.allSatisfy {
            $0 >= 0x30 && $0 <= 0x39 || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0)
        }
        guard isPlain, text.count <= 400, let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
        else {
            return nil
        }
        return value
    }

    /// Tells whether bytes are UTF-8.
    static func isUTF8(_ text: UnsafeRawBufferPointer) -> Bool {
        text.allSatisfy { $0 < 0x80 } || String(validating: text, as: UTF8.self) != nil
    }

    /// Decodes base64 in lines; nil if it is none.
    static func decodeBase64(_ text: UnsafeRawBufferPointer) -> Data? {
        Data(base64Encoded: Data(text.lazy.filter { $0 > 0x20 }))
    }
}
