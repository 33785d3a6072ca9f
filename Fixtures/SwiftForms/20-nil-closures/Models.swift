import SwiftData
enum Plan: SchemaMigrationPlan {
    static let schemas: [any VersionedSchema.Type] = [V1.self, V2.self]
    static let stages: [MigrationStage] = [
        MigrationStage.custom(fromVersion: V1.self, toVersion: V2.self, willMigrate: nil, didMigrate: nil)
    ]
}
@Model final class Live { var name: String }
enum V1: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let models: [any PersistentModel.Type] = [Live.self]
}
enum V2: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Live.self]
}
