import SwiftData
enum S { enum V1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = [Item.self, Tag.self]
    @Model final class Item { var name: String; @Relationship(inverse: \Tag.items) var tags: [Tag] }
    @Model final class Tag { var name: String; var items: [Item] }
  }
  enum V2: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 1, 0)
    static var models: [any PersistentModel.Type] { V1.models + [Note.self] }
    typealias Item = V1.Item
    typealias Tag = V1.Tag
    @Model final class Note { var item: Item?; var text: String }
  }
  enum V3: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 2, 0)
    static var models: [any PersistentModel.Type] { common + [Item.self] }
    private static let common: [any PersistentModel.Type] = [V2.Note.self]
    @Model final class Item { var name: String; var done: Bool = false }
  }
}
enum Plan: SchemaMigrationPlan {
    static let schemas: [any VersionedSchema.Type] = [S.V1.self, S.V2.self, S.V3.self]
    static let stages = [MigrationStage.lightweight(fromVersion: S.V1.self, toVersion: S.V2.self), .lightweight(fromVersion: S.V2.self, toVersion: S.V3.self)]
}
