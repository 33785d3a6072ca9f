import Diagnostics
import ManagedModel
import SwiftSources

/// Writes versions derived from sources as plain lines, to compare them with an expected text.
enum ModelSummary {
    static func text(_ all: SourceModelVersions) -> String {
        var lines = all.versions.flatMap { self.lines($0, label: "") }
        lines += all.others.flatMap { self.lines($0, label: "unlisted ") }
        lines += all.stages.map { "\($0.isCustom ? "custom" : "lightweight") \($0.from) \($0.to) \($0.place)" }
        return (lines + all.warnings.map { "warning \($0)" }).joined(separator: "\n") + "\n"
    }

    private static func lines(_ version: SourceModelVersion, label: String) -> [String] {
        let head = "\(label)\(version.name) \(version.identifier ?? "-")"
        switch version.model {
        case .failure(let error):
            return ["\(head) refused \(error.code.rawValue) \(error.context.path ?? ""):\(error.context.line ?? 0)"]
        case .success(let model):
            return [head] + model.entities.flatMap { lines($0, model.definition, version.expressions) }
        }
    }

    private static func lines(
        _ entity: EntityDescription, _ model: ModelDefinition, _ expressions: [String: String]
    ) -> [String] {
        let definition = entity.definition
        var lines = [definition.name]
        for attribute in definition.attributes {
            let made = expressions["\(definition.name).\(attribute.name)"].map { ", made by \($0)" } ?? ""
            lines += self.lines(attribute, model, indent: "  ", made)
        }
        for link in definition.relationships.sorted(by: { $0.name < $1.name }) {
            var line = "  \(link.name) \(link.isToMany ? "->>" : "->") \(link.destinationEntityName)"
            if link.isOptional { line += " optional" }
            if let inverse = link.inverseName { line += " inverse \(inverse)" }
            if link.deleteRule != .nullify { line += " \(link.deleteRule)" }
            if let was = link.renamingIdentifier { line += " was \(was)" }
            lines.append(line)
        }
        lines += definition.uniquenessConstraints.map { "  unique \($0.joined(separator: ", "))" }
        return lines + definition.indexes.map { "  index \($0.name)" }
    }

    private static func lines(
        _ attribute: AttributeDefinition, _ model: ModelDefinition, indent: String, _ made: String
    ) -> [String] {
        var line = "\(indent)\(attribute.name) \(attribute.type.label)"
        if let name = attribute.valueClassName { line += " \(name)" }
        if attribute.isOptional { line += " optional" }
        if attribute.isTransient { line += " transient" }
        if attribute.allowsExternalBinaryDataStorage { line += " external" }
        if let was = attribute.renamingIdentifier { line += " was \(was)" }
        if let name = attribute.valueTransformerName, name != "NSSecureUnarchiveFromData" { line += " by \(name)" }
        switch attribute.defaultValue {
        case nil: break
        case .boolean(let value)?: line += " = \(value)"
        case .integer(let value)?: line += " = \(value)"
        case .double(let value)?: line += " = \(value)"
        case .decimal(let value)?: line += " = \(value)"
        case .string(let value)?: line += " = \(value.debugDescription)"
        case let value?: line += " = \(value)"
        }
        let elements = attribute.compositeName.flatMap { model.composites[$0] } ?? []
        return [line + made] + elements.flatMap { lines($0, model, indent: indent + "  ", "") }
    }
}
