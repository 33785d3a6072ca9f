import Diagnostics
import Foundation
import Stagecoach

/// Encodes values as JSON for people and programs: sorted keys, indented, with a line end.
enum JSONText {
    static func text(_ value: some Encodable) throws -> String { try JSONEncoder.text(value) }

    /// Returns the JSON on one line.
    static func line(_ value: some Encodable) throws -> String { try JSONEncoder.text(value, []) }
}
