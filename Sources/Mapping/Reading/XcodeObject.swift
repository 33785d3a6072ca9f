import Diagnostics
import ManagedModel

/// An `<object>` of an `xcmapping.xml`, which is a Core Data store in XML.
struct XcodeObject {
    let type: String
    let id: String
    /// The offset of its start tag in bytes of the file, which gives line and column.
    let offset: Int
    /// The texts by name, as in the file.
    var attributes: [String: String] = [:]
    /// The ids of other objects, by the relationship's name.
    var references: [String: [String]] = [:]
}

/// Collects the objects of an `xcmapping.xml`. Other content is skipped, also the copies of the two models (`sourcemodeldata`:
/// archives of classes that only Xcode has, 3 MB of wire's 4 MB file).
final class XcodeObjectHandler: XMLTagHandler {
    /// The objects in the order of the file.
    private(set) var objects: [XcodeObject] = []
    private var open: [String] = []
    private var object: XcodeObject?
    private var attribute: String?
    private var text = ""

    private static let ignored: Set<String> = ["sourcemodeldata", "destinationmodeldata"]

    func open(_ tag: XMLTag) throws(MigrationError) {
        if open.isEmpty, tag.name != "database" {
            throw MigrationError(
                "mapping.notAMapping", .configuration, "The root element is <\(tag.name)>, not <database>",
                remedy: "Name an .xcmappingmodel, or the xcmapping.xml in it")
        }
        switch (open.count, tag.name) {
        case (1, "object"):
            guard let type = tag.attributes["type"], let id = tag.attributes["id"], !id.isEmpty else {
                throw MigrationError(
                    "mapping.missingAttribute", .configuration, "An <object> has no type or no id",
                    remedy: "Open and save the mapping model in Xcode")
            }
            object = XcodeObject(type: type, id: id, offset: tag.offset)
        case (2, "attribute"):
            if let name = tag.attributes["name"], object != nil, !Self.ignored.contains(name) {
                attribute = name
                text = ""
            }
        case (2, "relationship"):
            if let name = tag.attributes["name"] {
                object?.references[name] = (tag.attributes["idrefs"] ?? "").split(separator: " ").map(String.init)
            }
        default: break
        }
        open.append(tag.name)
    }

    func close() throws(MigrationError) {
        open.removeLast()
        switch open.count {
        case 1:
            if let object { objects.append(object) }
            object = nil
        case 2:
            if let attribute { object?.attributes[attribute] = text }
            attribute = nil
        default: break
        }
    }

    func text(_ piece: String) {
        if attribute != nil { text += piece }
    }
}

extension String {
    /// The text without Core Data's escapes: `\uXXXX`, a UTF-16 unit with its two bytes swapped, is a character that XML would
    /// escape (`messageID \u3c00 10000` is a filter `messageID < 10000`).
    var unescapedFromXcode: String {
        guard utf8.contains(UInt8(ascii: "\\")) else { return self }
        // Two neighbouring escapes may be the halves of one character.
        return replacing(/(?:\\u[0-9a-fA-F]{4})+/.matchingSemantics(.unicodeScalar)) { escapes in
            let units = escapes.output.split(separator: "\\u").compactMap { UInt16($0, radix: 16)?.byteSwapped }
            return String(decoding: units, as: UTF16.self)
        }
    }
}
