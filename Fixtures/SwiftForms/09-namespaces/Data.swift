import SwiftData
enum DataV1 {
    @Model final class User { var name: String; @Relationship(inverse: \Post.user) var posts: [Post] = [] }
    @Model final class Post { var user: User? }
}
enum DataV2 {}
extension DataV2 {
    @Model final class User { var fullName: String; @Relationship(inverse: \DataV2.Post.user) var posts: [DataV2.Post] = [] }
}
extension DataV2 { @Model final class Post { var user: User? } }
