import SwiftData
enum RecipesPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] {
        [RecipesV1.self, RecipesV2.self]
    }
    static var stages: [MigrationStage] { [v1ToV2] }
    static let v1ToV2 = MigrationStage.custom(
        fromVersion: RecipesV1.self,
        toVersion: RecipesV2.self,
        willMigrate: { context in
            let recipes = try context.fetch(FetchDescriptor<RecipesV1.Recipe>())
            var seen = Set<String>()
            for recipe in recipes where !seen.insert(recipe.title).inserted { context.delete(recipe) }
            try context.save()
        },
        didMigrate: nil
    )
}
