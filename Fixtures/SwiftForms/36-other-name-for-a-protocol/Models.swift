import SwiftData

protocol AppSchema: VersionedSchema { static var note: String { get } }
typealias Versioned = AppSchema

enum V1: AppSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static let note = "first"
    static var models: [any PersistentModel.Type] { [A.self] }
    @Model final class A { var a: Int }
}

enum V2: Versioned {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static let note = "second"
    static var models: [any PersistentModel.Type] { [A.self] }
    @Model final class A { var a: Int; var b: Int = 1 }
}
