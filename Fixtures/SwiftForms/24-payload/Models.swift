import SwiftData
enum Shape: Codable { case circle(Double), square }
@Model final class Figure { var shape: Shape }
