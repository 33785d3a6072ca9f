import SwiftData
enum Plan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, V2.self, V3.self] }
    static var stages: [MigrationStage] { [first, .lightweight(fromVersion: V2.self, toVersion: V3.self)] }
    static let first = MigrationStage.custom(
        fromVersion: V1.self, toVersion: V2.self,
        willMigrate: { context in
            for item in try context.fetch(FetchDescriptor<V1.Item>()) { item.name = item.name + "}" }
        },
        didMigrate: nil)
}
enum V1: VersionedSchema {
    static var versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item { var name: String }
}
enum V2: VersionedSchema {
    static var versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item { @Attribute(.unique) var name: String }
}
enum V3: VersionedSchema {
    static var versionIdentifier = Schema.Version(3, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item { @Attribute(.unique, originalName: "name") var title: String }
}
enum V4: VersionedSchema {
    static var versionIdentifier = Schema.Version(4, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self] }
    @Model final class Item { var text: String }
}
