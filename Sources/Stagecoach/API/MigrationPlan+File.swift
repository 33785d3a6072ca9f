import Diagnostics
import Foundation

extension MigrationPlan {
    /// Returns the plan as JSON with sorted keys and a line end.
    public func json() throws -> String { try JSONEncoder.text(self) }

    /// Reads a saved plan.
    ///
    /// - Parameters:
    ///   - json: the text of the saved plan.
    ///   - path: the file's path, for error messages.
    /// - Throws: `plan.parse` (78) with the place where it is no plan; `plan.version` (78) for another format version.
    public static func read(json: Data, path: String? = nil) throws(MigrationError) -> MigrationPlan {
        struct Version: Decodable { var formatVersion: Int }
        return try reading(path) {
            let version = try JSONDecoder().decode(Version.self, from: json).formatVersion
            try check(version: version, is: currentFormatVersion, path)
            return try JSONDecoder().decode(MigrationPlan.self, from: json)
        }
    }

    /// Refuses a plan of another format version.
    static func check(version: Int, is current: Int, _ path: String?) throws(MigrationError) {
        guard version != current else { return }
        throw MigrationError(
            "plan.version", .configuration, "The plan has the form \(version), and this program reads \(current)",
            remedy: "Make a new plan", context: .init(path: path))
    }

    /// Runs a closure that decodes a plan. Errors say where the text is not a plan.
    static func reading<Plan>(_ path: String?, _ body: () throws -> Plan) throws(MigrationError) -> Plan {
        do {
            return try body()
        } catch let error as MigrationError {
            throw error
        } catch {
            throw MigrationError(
                "plan.parse", .configuration, "The file is no plan: \(place(of: error))",
                remedy: "Make one with stagecoach plan --save", context: .init(path: path))
        }
    }

    private static func place(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "it cannot be read" }
        func at(_ path: [any CodingKey]) -> String {
            path.isEmpty
                ? "" : " at " + path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(key.stringValue) is missing\(at(context.codingPath))"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "a value of another type is wanted\(at(context.codingPath))"
        case .dataCorrupted(let context):
            return "it is no JSON, or has a word that is not known\(at(context.codingPath))"
        @unknown default: return "it cannot be read"
        }
    }

    /// Refuses inputs that the plan was not made for. Throws `plan.outdated` (78) with the differences.
    func check(inputs now: Inputs) throws(MigrationError) {
        let differences = inputs.differences(from: now)
        guard !differences.isEmpty else { return }
        throw MigrationError(
            "plan.outdated", .configuration, "The plan does not fit its inputs any more: \(differences.shown)",
            remedy: "Make a new plan, and look at what changed")
    }

    /// Refuses a plan whose statements do not follow from its inputs, passes and keys.
    ///
    /// - Throws: `plan.edited` (78) with the differences.
    func check(decisions now: MigrationPlan) throws(MigrationError) {
        var lines: [String] = []
        if models.count != now.models.count { lines.append("it is for \(models.count.counted("mapping model"))") }
        for (old, new) in zip(models, now.models) {
            if old.isStaged != new.isStaged {
                lines.append(new.isStaged ? "it takes the policy path" : "it takes the row path")
            }
            if old.entityMappings.count != new.entityMappings.count {
                lines.append("the number of entity mappings is \(new.entityMappings.count.grouped)")
            }
            for (one, other) in zip(old.entityMappings, new.entityMappings)
            where one.name != other.name || one.path != other.path {
                lines.append("entity mapping \(other.name) takes the path \(other.path.rawValue)")
            }
            if old.tables.count != new.tables.count {
                lines.append("the number of root entities is \(new.tables.count.grouped)")
            }
            for (one, other) in zip(old.tables, new.tables) {
                if one.rootEntity != other.rootEntity || one.entityMappings != other.entityMappings {
                    lines.append("\(other.rootEntity) is filled by \(other.entityMappings.joined(separator: ", "))")
                } else if one.keys != other.keys {
                    lines.append("keys of \(other.rootEntity) are \(other.keys.rawValue)")
                }
            }
            let carried = Dictionary(
                new.relationships.map { ("\($0.entity).\($0.name)", $0) }, uniquingKeysWith: { first, _ in first })
            for one in old.relationships {
                guard let other = carried["\(one.entity).\(one.name)"], other.carrier == one.carrier,
                    other.resolution == one.resolution
                else {
                    lines.append("\(one.entity).\(one.name) is resolved in another way")
                    continue
                }
            }
        }
        guard !lines.isEmpty else { return }
        throw MigrationError(
            "plan.edited", .configuration, "The plan says what the run would not do: \(lines.shown)",
            remedy: "Edit only the passes of a plan and the keys of its tables, or make a new one")
    }
}

extension [String] {
    /// The first five lines, and the number of the others.
    var shown: String { prefix(5).joined(separator: "; ") + (count > 5 ? "; and \((count - 5).grouped) more" : "") }
}

extension JSONEncoder {
    /// An encoder of texts for people: keys are sorted, and each value has a line.
    static var readable: JSONEncoder { sorted(.prettyPrinted) }

    private static func sorted(_ layout: OutputFormatting) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = layout.union([.sortedKeys, .withoutEscapingSlashes])
        return encoder
    }

    /// Returns a value as JSON for people and programs: sorted keys, indented unless told otherwise, with a line end.
    package static func text(_ value: some Encodable, _ layout: OutputFormatting = .prettyPrinted) throws -> String {
        String(decoding: try sorted(layout).encode(value), as: UTF8.self) + "\n"
    }
}
