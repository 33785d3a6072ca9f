import SwiftData
extension SchemaV1 {
    @Model public final class Dog { public var name: String; var kind: Kind? }
}
