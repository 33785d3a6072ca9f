import Foundation
import SwiftData

// Types of other modules keep their meaning where the sources extend them, and so does an alias.
extension Date {
    static let start = Date(timeIntervalSince1970: 0)
    var year: Int { 2000 }
}

extension String {
    enum Kind: String, Codable { case short, long }
}

typealias Tags = [String]
extension Tags { var joined: String { self.joined(separator: ", ") } }

typealias Key = UUID
extension Key { var short: String { String(uuidString.prefix(4)) } }

@Model final class Note {
    var writtenAt: Date
    var text: String = ""
    var kind: String.Kind
    var tags: Tags = []
    var key: Key?
    var codes: [UInt32] = []
    var start = Date.now
}
