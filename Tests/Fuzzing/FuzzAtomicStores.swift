import AtomicStores
import Diagnostics
import Foundation
import ManagedModel
import SpillStorage

/// Stores of type XML and binary as inputs: one that is read is written, read and written again, and has to give the same bytes.
enum FuzzAtomicStores {
    private static let folder = FuzzTarget.scratch + "-atomic"

    static func read(_ bytes: [UInt8], _ format: StoreFormat) throws {
        guard StoreFormat.of(try put(bytes)) == format else { return }
        let written = try writing(try importing("store", format), format)
        let again = try writing(try importing("written", format), format)
        precondition(again == written, "a store that was written reads as another")
        _ = try AtomicStoreCensus.count("\(folder)/written", format: format)
    }

    private static func put(_ bytes: [UInt8]) throws -> String {
        FileSystem.removeTree(folder)
        mkdir(folder, 0o700)
        let path = "\(folder)/store"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Reads a file into a private store, and returns the path of that.
    private static func importing(_ name: String, _ format: StoreFormat) throws -> String {
        let directory = try WorkDirectory(path: "\(folder)/work")
        defer { try? directory.remove() }
        let path = "\(folder)/\(name).sqlite"
        _ = try PrivateStoreImport(
            "\(folder)/\(name)", format: format, directory: directory, memory: 4 << 20, checkCancelled: {}
        ).run(to: path) { _ in model }
        return path
    }

    /// Writes a store, and returns the bytes.
    private static func writing(_ store: String, _ format: StoreFormat) throws -> Data {
        let path = "\(folder)/written"
        unlink(path)
        _ = try AtomicStoreExport(of: store, model: model, format: format).write(
            to: path, permissions: .own, checkCancelled: {})
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// A store of every kind of value and relationship, as a seed.
    static func seed(_ format: StoreFormat) throws -> [UInt8] {
        defer { FileSystem.removeTree(folder) }
        if format == .xml { return Array(xml.utf8) }
        _ = try put(Array(xml.utf8))
        return [UInt8](try writing(try importing("store", .xml), format))
    }

    private static let model: ManagedObjectModel = {
        func link(_ name: String, _ to: String, _ inverse: String, isToMany: Bool = false) -> RelationshipDefinition {
            var link = RelationshipDefinition(name: name, destinationEntityName: to)
            (link.inverseName, link.isToMany, link.isOptional) = (inverse, isToMany, true)
            return link
        }
        var author = EntityDefinition(name: "Author")
        author.attributes = [
            AttributeDefinition(name: "born", type: .date), AttributeDefinition(name: "count", type: .integer16),
            AttributeDefinition(name: "isAlive", type: .boolean), AttributeDefinition(name: "name", type: .string),
            AttributeDefinition(name: "photo", type: .binaryData),
        ]
        author.attributes[4].allowsExternalBinaryDataStorage = true
        author.relationships = [link("books", "Book", "author", isToMany: true), link("best", "Book", "bestOf")]
        var book = EntityDefinition(name: "Book")
        book.attributes = [
            AttributeDefinition(name: "pages", type: .integer32), AttributeDefinition(name: "serial", type: .integer64),
        ]
        book.relationships = [
            link("author", "Author", "books"), link("bestOf", "Author", "best"),
            link("tags", "Tag", "books", isToMany: true),
        ]
        var novel = EntityDefinition(name: "Novel")
        novel.superentityName = "Book"
        novel.attributes = [AttributeDefinition(name: "genre", type: .string)]
        var tag = EntityDefinition(name: "Tag")
        tag.relationships = [link("books", "Book", "tags", isToMany: true)]
        var definition = ModelDefinition()
        definition.entities = [author, book, novel, tag]
        for entity in definition.entities.indices {
            for index in definition.entities[entity].attributes.indices {
                definition.entities[entity].attributes[index].isOptional = true
            }
        }
        guard let made = try? ManagedObjectModel(definition) else { preconditionFailure("the model is sound") }
        return made
    }()

    private static let xml = #"""
        <?xml version="1.0" standalone="no"?>
        <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

        <database>
            <databaseInfo>
                <version>134481920</version>
                <UUID>DDD6D918-87B7-48DD-8362-001F9A6CA901</UUID>
                <nextObjectID>105</nextObjectID>
                <metadata><plist version="1.0"><dict><key>a</key><array><data>AQID</data><real>1.5</real><true/></array>
                <key>d</key><date>2011-01-02T03:04:05Z</date><key>n</key><integer>641</integer></dict></plist></metadata>
            </databaseInfo>
            <object type="AUTHOR" id="z102">
                <attribute name="name" type="string">Ann \u3c00b\u3e00 \\ ü</attribute>
                <attribute name="photo" type="binary">AQID</attribute>
                <attribute name="isalive" type="bool">1</attribute>
                <attribute name="count" type="int16">2</attribute>
                <attribute name="born" type="date">86400.50000000000000000000</attribute>
                <relationship name="best" type="0/1" destination="BOOK" idrefs="z103"></relationship>
                <relationship name="books" type="0/0" destination="BOOK" idrefs="z103 z104"></relationship>
            </object>
            <object type="BOOK" id="z103">
                <attribute name="pages" type="int32">300</attribute>
                <relationship name="author" type="0/1" destination="AUTHOR" idrefs="z102"></relationship>
                <relationship name="bestof" type="0/1" destination="AUTHOR" idrefs="z102"></relationship>
                <relationship name="tags" type="0/0" destination="TAG" idrefs="z105"></relationship>
            </object>
            <object type="NOVEL" id="z104">
                <attribute name="genre" type="string"></attribute>
                <attribute name="serial" type="int64">-5</attribute>
                <relationship name="author" type="0/1" destination="AUTHOR" idrefs="z102"></relationship>
                <relationship name="bestof" type="0/1" destination="AUTHOR"></relationship>
                <relationship name="tags" type="0/0" destination="TAG" idrefs="z105"></relationship>
            </object>
            <object type="TAG" id="z105">
                <relationship name="books" type="0/0" destination="BOOK" idrefs="z104 z103"></relationship>
            </object>
        </database>
        """#
}
