import Stagecoach

/// A plan as a graph in DOT, for Graphviz: passes are boxes with tables in them, relationships are arrows from the side that
/// carries the links.
enum PlanGraph {
    /// Returns the graph. Solid arrows are looked up row by row, dashed ones are resolved over the whole table, double ones are
    /// in a join table, dotted ones are logged on the policy path. A red arrow is deferred to a later pass.
    static func text(_ outline: PlanOutline) -> String {
        var lines = [
            "digraph plan {", "  rankdir=RL;", "  compound=true;",
            "  graph [fontname=\"Helvetica\", label=\(quoted(outline.names.line)), labelloc=t];",
            "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11];",
            "  edge [fontname=\"Helvetica\", fontsize=9];",
        ]
        for (number, model) in outline.plan.models.enumerated() {
            lines += graph(of: model, number: number, isOnly: outline.plan.models.count == 1)
        }
        lines.append("}")
        return lines.joined(separator: "\n") + "\n"
    }

    private static func graph(of model: MigrationPlan.Model, number: Int, isOnly: Bool) -> [String] {
        var lines: [String] = []
        let tables = model.tablesByRoot
        let withObjects = Set(model.entityMappings.filter { $0.path == .objects }.map(\.name))
        /// The node of each table's last step, where its relationships begin and end.
        var nodes: [String: String] = [:]
        for (index, pass) in model.passes.enumerated() {
            let name = isOnly ? "Pass \(index + 1)" : "Mapping model \(number + 1), pass \(index + 1)"
            lines.append("  subgraph \(quoted("cluster_\(number)_\(index)")) {")
            lines.append("    label=\(quoted(name)); style=filled; color=\"#dde3ea\"; fillcolor=\"#f3f6f9\";")
            for (position, step) in pass.steps.enumerated() {
                let node = "\(number).\(index).\(position)"
                if step.closes { nodes[step.rootEntity] = node }
                var words = [step.rootEntity]
                if step.entityMappings.isEmpty {
                    words.append("without source rows")
                } else {
                    let keys = tables[step.rootEntity]?.keys.rawValue ?? ""
                    words.append(Figures.count(step.sourceRows, "row") + ", keys \(keys)")
                    words.append(step.entityMappings.joined(separator: ", "))
                }
                words += [PlanWording.range(step)].compactMap(\.self)
                let color = step.entityMappings.contains(where: withObjects.contains) ? "#fdebc8" : "white"
                lines.append(
                    "    \(quoted(node)) [label=\(quoted(words.joined(separator: "\n"))), fillcolor=\(quoted(color))];")
            }
            lines.append("  }")
        }
        for line in model.relationships {
            guard let from = nodes[line.rootEntity], let to = nodes[line.destinationRootEntity],
                let style = style(of: line, in: model.relationships)
            else { continue }
            let color = line.isDeferred ? ", color=red" : ""
            lines.append("  \(quoted(from)) -> \(quoted(to)) [label=\(quoted(line.name)), \(style)\(color)];")
        }
        return lines
    }

    /// Returns the style of an arrow; nil if the inverse is drawn.
    private static func style(of line: MigrationPlan.Relationship, in all: [MigrationPlan.Relationship]) -> String? {
        switch line.resolution {
        case .untouched, .inverse: return nil
        case .row: return "style=solid"
        case .table: return "style=dashed"
        case .logged: return line.carrier != line.fullName && isSecond(line, in: all) ? nil : "style=dotted"
        case .join: return isSecond(line, in: all) ? nil : "style=bold, dir=both"
        }
    }

    /// Tells whether the other side of an inverse pair comes before it.
    private static func isSecond(_ line: MigrationPlan.Relationship, in all: [MigrationPlan.Relationship]) -> Bool {
        let first = all.first { $0.fullName == line.fullName || $0.fullName == line.inverse }
        return first.map { $0.fullName != line.fullName } ?? false
    }

    /// Returns a string of DOT. Names come from strangers: nothing in them can end the string.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case _ where scalar.properties.generalCategory == .control: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
