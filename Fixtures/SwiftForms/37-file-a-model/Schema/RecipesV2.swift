import SwiftData

public enum RecipesV2: VersionedSchema {
    public static let versionIdentifier: Schema.Version = .init(2, 0, 0)
    public static var models: [any PersistentModel.Type] {
        return [
            Recipe.self,
            Step.self, // the steps
            Tag.self,
        ]
    }
}
