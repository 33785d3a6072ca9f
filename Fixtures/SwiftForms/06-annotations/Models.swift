import SwiftData
@Model
final class Photo {
    @Attribute(.unique) var id: UUID
    @Attribute(.externalStorage, originalName: "bytes")
    var data: Data?
    @Attribute(.ephemeral) var progress: Double = 0
    @Attribute(.transformable(by: ColorTransformer.self)) var tint: NSColor
    @Attribute(.transformable(by: "Named")) var other: Foo?
    @Attribute(originalName: "old_name") var name: String
    @Attribute(.spotlight, .allowsCloudEncryption) var text: String
}
