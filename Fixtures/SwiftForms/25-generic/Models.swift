import SwiftData
@Model final class Box<Content> where Content: Codable { var name: String }
