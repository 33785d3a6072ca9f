import SwiftData
struct Rules: Codable {
    var first: Rule?
    var second: Rule
    struct Rule: Codable { var by: String; var isOn: Bool }
}
@Model final class Game { var rules: Rules?; var colour: Color.Resolved }
