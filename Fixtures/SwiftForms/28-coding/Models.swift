import SwiftData
struct Size: Codable {
    var width: Double
    var height: Double
    enum CodingKeys: String, CodingKey { case width = "w", height }
}
@Model final class Door { var size: Size }
