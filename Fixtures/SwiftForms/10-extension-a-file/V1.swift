import SwiftData
public enum SchemaV1: VersionedSchema {
    public static var models: [any PersistentModel.Type] { return [Dog.self] }
    public static var versionIdentifier: Schema.Version = Schema.Version(1, 2, 3)
}
