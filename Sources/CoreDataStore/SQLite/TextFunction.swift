import CSQLite
import Diagnostics
import Foundation

/// The text functions of derived attributes, as SQL functions of Stagecoach, because Core Data's own exist only in Apple's
/// process. They are used in statements that run, never in a schema.
package enum TextFunction: String, CaseIterable {
    /// Removes case and diacritics, as for searching texts.
    case canonical
    case uppercase
    case lowercase

    /// Finds the function by the selector before a derivation's parenthesis, such as `canonical:`.
    init?(selector: some StringProtocol) {
        guard selector.hasSuffix(":"), let function = TextFunction(rawValue: String(selector.dropLast())) else {
            return nil
        }
        self = function
    }

    var sqlName: String { "stagecoach_\(rawValue)" }

    package func callAsFunction(_ text: String) -> String {
        switch self {
        case .canonical: text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        case .uppercase: text.uppercased()
        case .lowercase: text.lowercased()
        }
    }
}

extension Connection {
    /// Registers the functions.
    package func addTextFunctions() throws(MigrationError) {
        for (index, function) in TextFunction.allCases.enumerated() {
            let code = sqlite3_create_function_v2(
                handle, function.sqlName, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                UnsafeMutableRawPointer(bitPattern: index + 1), { TextFunction.apply($0, $2) }, nil, nil, nil)
            guard code == SQLITE_OK else {
                throw SQLiteFailure.error(handle, code: code, doing: "Adding a function", path: path)
            }
        }
    }
}

extension TextFunction {
    fileprivate static func apply(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        let index = Int(bitPattern: sqlite3_user_data(context)) - 1
        guard let argument = arguments?[0], sqlite3_value_type(argument) != SQLITE_NULL,
            let bytes = sqlite3_value_text(argument), TextFunction.allCases.indices.contains(index)
        else { return sqlite3_result_null(context) }
        let count = Int(sqlite3_value_bytes(argument))
        var text = TextFunction.allCases[index](
            String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                sqlite3_result_text64(
                    context, bytes.baseAddress, UInt64(bytes.count), Statement.transient, UInt8(SQLITE_UTF8))
            }
        }
    }
}
