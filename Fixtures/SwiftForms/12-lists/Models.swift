import SwiftData
let shared: [any PersistentModel.Type] = [A.self]
@Model final class A { var a: Int }
@Model final class B { var b: Int }
@Model final class C { var c: Int }
enum V1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let models: [any PersistentModel.Type] = shared
}
enum V2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { V1.models + [B.self] }
}
enum V3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static var models: [any PersistentModel.Type] { get { return V2.models + Self.more } }
    static let more: [any PersistentModel.Type] = [
        C.self,   // the newest
    ]
}
