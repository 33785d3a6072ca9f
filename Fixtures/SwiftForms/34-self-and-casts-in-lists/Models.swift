import SwiftData

enum V1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Self.Tag.self] }
    @Model final class Tag { var name: String }
}

enum V2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let own = [Mark.self] as [any PersistentModel.Type]
    static var models: [any PersistentModel.Type] { get { return V1.models + Self.own } }
    @Model final class Mark { var place: Double = Self.home; static let home = 1.5 }
}

enum Plan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self] + newer }
    static let newer: [any VersionedSchema.Type] = [V2.self]
    static var stages: [MigrationStage] { [first] + [] }
    static let first = MigrationStage.lightweight(fromVersion: V1.self, toVersion: V2.self)
}
