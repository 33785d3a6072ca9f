import SwiftData
enum State: Codable, Equatable { case open; case closed, lost }
enum Level: CaseIterable, Codable, Int { case low = 1, high }
enum Kind: String, Codable, CaseIterable, Identifiable {
    case book = "b"
    case `class`
    var id: String { rawValue }
}
@Model final class Item {
    var state: State = .open
    var level: Level?
    var kind: Kind = Kind.class
    var raw: String = Kind.class.rawValue
    var number: Int = Level.high.rawValue
}
