import SwiftData
@Model final class Event {
    var `class`: String
    var `in`: Int = 3
    var kind: `Type`?
    enum `Type`: String, Codable { case `default`, other }
}
