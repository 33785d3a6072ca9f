import SwiftData
typealias Recipe = RecipesV2.Recipe
public typealias Step = RecipesV2.Step
typealias Tag = RecipesV2.Tag
extension RecipesV2 {
    @Model public final class Step {
        public var text: String = ""
        public var number: Int = 0
        public var recipe: RecipesV2.Recipe?
        public var timers: [Timer]?
        public var notes: [String]?
        public struct Timer: Codable, Hashable { var seconds: Int; var label: String? }
        public init() {}
    }
    @Model public final class Tag {
        #Unique<Tag>([\.name])
        #Index<Tag>([\.name], [\.name, \.colour])
        var name: String; var colour: String?
        var recipes: [Recipe] = [Recipe]()
        init(name: String) { self.name = name }
    }
}
