import SwiftData
@Model final class Item { var name: String; var kind: Kind }
enum Kind: String, Codable { case a }
