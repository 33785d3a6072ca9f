import SwiftData
typealias Tag = SchemaV2.Tag
typealias Current = Alias
typealias Alias = SchemaV2
typealias Identifier = UUID
typealias Words = [String]
enum SchemaV1: VersionedSchema {
    static var versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self] }
    @Model final class Item { var id: Identifier; var tag: Tag? }
    @Model final class Tag { var name: String }
}
enum SchemaV2: VersionedSchema {
    static var versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Current.Item.self] }
    @Model final class Item { var words: Words?; var tag: Tag?; var old: SchemaV1.Tag.Kind? }
    @Model final class Tag { var title: String }
}
extension SchemaV1.Tag { enum Kind: Int, Codable { case a } }
