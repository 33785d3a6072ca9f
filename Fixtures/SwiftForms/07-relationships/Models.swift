import SwiftData
@Model final class Author {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: [Book] = []
    @Relationship(inverse: \Tag.authors) var tags: [Tag]?
}
@Model final class Book { var author: Author?; var cover: Cover? }
@Model final class Tag { var authors: [Author] = [] }
@Model final class Cover { var name: String }
