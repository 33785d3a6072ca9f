import SwiftData
struct Step: Codable { var text: String }
enum Mood: String, Codable { case good, bad }
@Model final class Recipe {
    var words: [String] = []
    var marks: Array<Int>?
    var steps: [Step]
    var moods: [Mood]?
    var counts: [String: Int] = [:]
}
