import Archives

/// Compares two definitions part by part.
package enum ModelComparison {
    /// A part of a model that another model lacks or has with another value.
    package struct Difference: Sendable, Equatable {
        /// The place of the part, such as `entity Book, attribute title: default value`.
        package let part: String
        /// The part's value, shortened.
        package let value: String
    }

    /// Returns the parts of a definition that another one lacks or has with another value, in the order of the first.
    ///
    /// - Complexity: O(both models).
    package static func parts(of model: ModelDefinition, missingIn other: ModelDefinition) -> [Difference] {
        var kept: [String: String] = [:]
        walk(other, []) { kept[$0] = $1 }
        var differences: [Difference] = []
        walk(model, []) { part, value in
            guard kept[part] != value else { return }
            differences.append(Difference(part: part, value: value.count > 80 ? value.prefix(79) + "…" : value))
        }
        return differences
    }

    /// The words for the members of a definition's collections.
    private static let members = [
        "entities": "entity", "attributes": "attribute", "relationships": "relationship",
        "fetchedProperties": "fetched property", "indexes": "fetch index", "elements": "element",
        "fetchRequests": "fetch request", "composites": "composite", "configurations": "configuration",
        "userInfo": "user info", "validationPredicates": "validation predicate",
    ]

    /// Visits every existing value with its place. Definitions are walked by their stored properties, so that none is
    /// forgotten.
    private static func walk(_ value: Any, _ place: [String], _ visit: (_ part: String, _ value: String) -> Void) {
        if let archived = value as? ArchivedParts { return walk(archived, place, visit) }
        if let xcode = value as? XcodeAttributes { return walk(xcode, place, visit) }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional: if let content = mirror.children.first { walk(content.value, place, visit) }
        case .struct where value is any ModelPart:
            for child in mirror.children where child.label != "name" {
                let label = child.label ?? ""
                guard let word = members[label] else {
                    walk(child.value, ["archived", "xcode"].contains(label) ? place : place + [words(label)], visit)
                    continue
                }
                for (index, member) in Mirror(reflecting: child.value).children.enumerated() {
                    if let entry = member.value as? (key: String, value: Any) {
                        walk(entry.value, place + ["\(word) \(entry.key)"], visit)
                    } else {
                        let name = (member.value as? any ModelPart)?.partName ?? String(index + 1)
                        visit((place + ["\(word) \(name)"]).joined(separator: ", "), "declared")
                        walk(member.value, place + ["\(word) \(name)"], visit)
                    }
                }
            }
        case .collection where value is [AttributeDefinition]:
            for attribute in value as? [AttributeDefinition] ?? [] {
                walk(attribute, place + ["element \(attribute.name)"], visit)
            }
        default:
            // A flag that is off counts as missing.
            if let flag = value as? Bool, !flag { return }
            if let list = value as? [String], list.isEmpty { return }
            if let list = value as? [[String]], list.isEmpty { return }
            let whole = place.dropLast().joined(separator: ", ")
            let part = place.last ?? ""
            visit(whole.isEmpty ? part : "\(whole): \(part)", "\(value)")
        }
    }

    private static func walk(
        _ archived: ArchivedParts, _ place: [String], _ visit: (_ part: String, _ value: String) -> Void
    ) {
        let whole = place.joined(separator: ", ")
        func say(_ part: String, _ graph: ArchivedGraph) {
            visit("\(whole): \(part)", "archived as \(graph.className ?? "a value without a class")")
        }
        for (key, graph) in archived.userInfo.sorted(by: { $0.key < $1.key }) { say("user info \(key)", graph) }
        for (key, graph) in archived.fields.sorted(by: { $0.key < $1.key }) { say(key, graph) }
        if archived.flags != 0 { visit("\(whole): flags", "\(archived.flags)") }
        if let graph = archived.defaultValue { say("default value", graph) }
    }

    private static func walk(
        _ xcode: XcodeAttributes, _ place: [String], _ visit: (_ part: String, _ value: String) -> Void
    ) {
        func say(_ texts: [String: String], _ place: [String]) {
            let whole = place.isEmpty ? "" : place.joined(separator: ", ") + ": "
            for (name, text) in texts.sorted(by: { $0.key < $1.key }) { visit(whole + name, text) }
        }
        say(xcode.texts ?? [:], place)
        for (part, texts) in xcode.parts.sorted(by: { $0.key < $1.key }) { say(texts, place + [part]) }
    }

    /// Returns a property's name in words, without its verb: `isOptional` is `optional`.
    private static func words(_ label: String) -> String {
        let words = label.reduce(into: "") { text, character in
            text += character.isUppercase && !text.isEmpty ? " \(character.lowercased())" : String(character)
        }
        return words.hasPrefix("is ") ? String(words.dropFirst(3)) : words
    }
}

/// A definition that is a member of another one.
private protocol ModelPart {
    /// The name; nil if the part has none.
    var partName: String? { get }
}

extension ModelDefinition: ModelPart { fileprivate var partName: String? { nil } }
extension EntityDefinition: ModelPart { fileprivate var partName: String? { name } }
extension AttributeDefinition: ModelPart { fileprivate var partName: String? { name } }
extension RelationshipDefinition: ModelPart { fileprivate var partName: String? { name } }
extension FetchedPropertyDefinition: ModelPart { fileprivate var partName: String? { name } }
extension FetchIndexDefinition: ModelPart { fileprivate var partName: String? { name } }
extension FetchIndexElement: ModelPart { fileprivate var partName: String? { nil } }
extension FetchRequestDefinition: ModelPart { fileprivate var partName: String? { name } }
