import SwiftData
enum AppV1: VersionedSchema {
    static var versionIdentifier: Schema.Version { Schema.Version(1, 0, 0) }
    static var models: [any PersistentModel.Type] { [DataV1.User.self, DataV1.Post.self] }
}
enum AppV2: VersionedSchema {
    static let versionIdentifier: Schema.Version = .init(2, 0, 0)
    static let models: [any PersistentModel.Type] = [DataV2.User.self, DataV2.Post.self]
}
