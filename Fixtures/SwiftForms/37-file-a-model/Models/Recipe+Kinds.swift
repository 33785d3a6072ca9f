import SwiftData
extension Recipe {
    enum Difficulty: Int, Codable, CaseIterable { case easy = 1, medium, hard }
}
extension RecipesV2.Recipe { public enum Course: String, Codable { case starter, main, dessert } }
extension Recipe: Comparable {
    public static func < (left: Recipe, right: Recipe) -> Bool { left.name < right.name }
    static let preview = Recipe(name: "Soup")
    var isRated: Bool { rating > 0 }
}
