import SwiftData

public enum RecipesV1: VersionedSchema {
    public static var versionIdentifier: Schema.Version { .init(1, 0, 0) }
    public static var models: [any PersistentModel.Type] {
        [Recipe.self, Step.self]
    }
}
extension RecipesV1 {
    @Model
    public final class Recipe {
        public var title: String
        public private(set) var createdAt: Date
        @Relationship(deleteRule: .cascade, inverse: \Step.recipe) public var steps: [Step]? = []
        public init(title: String) { self.title = title; createdAt = .now }
    }
    @Model
    public final class Step {
        public var text: String = ""
        public var recipe: Recipe?
        public init() {}
    }
}
