import Archives
import CoreDataStore
import Diagnostics

/// Writes an XML store as Core Data writes it, element by element.
final class XMLStoreWriter {
    private static let declaration = """
        <?xml version="1.0" standalone="no"?>
        <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

        <database>

        """

    let output: FileOutput
    private var hasTargets = false

    init(_ output: FileOutput) { self.output = output }

    func begin(_ header: AtomicStoreHeader) throws(MigrationError) {
        try output.write(
            """
            \(Self.declaration)    <databaseInfo>
                    <version>134481920</version>
                    <UUID>\(header.metadata.uuid)</UUID>
                    <nextObjectID>\(header.highestID)</nextObjectID>
                    <metadata>
                        <plist version="1.0">

            """)
        var list: [UInt8] = []
        let entries = PropertyListDictionary(header.metadata.propertyList)
        try XMLPropertyList.append(.dictionary(entries), depth: 4, to: &list)
        try output.write(list)
        try output.write("            </plist>\n        </metadata>\n    </databaseInfo>\n")
    }

    func finish() throws(MigrationError) {
        try output.write("</database>")
        try output.finish()
    }

    func beginObject(type: String, id: Int64) throws(MigrationError) {
        try output.write("    <object type=\"\(type)\" id=\"z\(id)\">\n")
    }

    /// Writes an attribute.
    ///
    /// - Parameter text: the text with its escapes.
    func attribute(_ name: String, word: String, escaped text: [UInt8]) throws(MigrationError) {
        try output.write("        <attribute name=\"\(name)\" type=\"\(word)\">")
        try output.write(text)
        try output.write("</attribute>\n")
    }

    /// Begins a relationship, whose objects follow.
    func beginRelationship(_ name: String, counts: String, destination: String) throws(MigrationError) {
        try output.write(
            "        <relationship name=\"\(name)\" type=\"\(counts)\" destination=\"\(destination)\"")
        hasTargets = false
    }

    func target(_ id: Int64) throws(MigrationError) {
        try output.write(hasTargets ? " z\(id)" : " idrefs=\"z\(id)")
        hasTargets = true
    }

    func endRelationship() throws(MigrationError) {
        try output.write(hasTargets ? "\"></relationship>\n" : "></relationship>\n")
    }

    func endObject() throws(MigrationError) { try output.write("    </object>\n") }
}
