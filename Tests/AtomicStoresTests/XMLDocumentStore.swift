import Foundation
import FoundationXML

/// The objects of an XML store as another parser reads them: by FoundationXML, with escapes undone by rules of its own.
struct XMLDocumentStore {
    struct Object: Equatable {
        var type: String
        var attributes: [String: String] = [:]
        var relationships: [String: [Int]] = [:]
    }

    private(set) var objects: [Int: Object] = [:]

    init(_ path: String) throws {
        let document = try XMLDocument(contentsOf: URL(fileURLWithPath: path))
        for case let element as XMLElement in document.rootElement()?.children ?? [] where element.name == "object" {
            func text(_ element: XMLElement, _ name: String) -> String {
                element.attribute(forName: name)?.stringValue ?? ""
            }
            let id = Int(text(element, "id").dropFirst()) ?? 0
            var object = Object(type: text(element, "type"))
            for case let part as XMLElement in element.children ?? [] {
                let name = text(part, "name")
                if part.name == "attribute" {
                    object.attributes[name.lowercased()] = Self.plain(part.stringValue ?? "")
                } else {
                    object.relationships[name.lowercased()] = text(part, "idrefs").split(separator: " ").compactMap {
                        Int($0.dropFirst())
                    }
                }
            }
            objects[id] = object
        }
    }

    private static func plain(_ text: String) -> String {
        text.components(separatedBy: "\\\\").map {
            $0.replacingOccurrences(of: "\\u3c00", with: "<").replacingOccurrences(of: "\\u3e00", with: ">")
                .replacingOccurrences(of: "\\u2600", with: "&")
        }.joined(separator: "\\")
    }
}
