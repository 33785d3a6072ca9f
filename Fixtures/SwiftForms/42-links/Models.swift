import SwiftData
@Model final class Folder {
    var name = ""
    @Relationship(deleteRule: .nullify) var parent: Folder?
    @Relationship(deleteRule: .cascade, inverse: \Folder.parent) var children: [Folder] = []
    @Relationship(deleteRule: .cascade, originalName: "files", inverse: \Document.folder) var documents: [Document]
    @Relationship(inverse: \Document.readers) var read: [Document]?
}
@Model final class Document {
    var title: String?
    @Relationship(inverse: \Folder.documents) var folder: Folder?
    var readers: [Folder]
    @Relationship(deleteRule: .deny, minimumModelCount: 0, maximumModelCount: 3) var authors: Set<Person> = []
    var cover: Image?
}
@Model final class Person { var name: String }
@Model final class Image { @Attribute(.externalStorage) var data: Data }
