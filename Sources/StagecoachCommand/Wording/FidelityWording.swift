import CoreDataStore

/// The words of `inspect --fidelity`.
enum FidelityWording {
    static func text(_ outline: FidelityOutline) -> String {
        let fidelity = outline.fidelity
        let facts = [
            ["model", outline.model],
            ["equal tables", Figures.count(fidelity.equal.tables)],
            ["equal join tables", Figures.count(fidelity.equal.joinTables)],
            ["equal indexes", Figures.count(fidelity.equal.indexes)],
            ["equal triggers", Figures.count(fidelity.equal.triggers)],
            ["equal entity numbers", Figures.count(fidelity.equal.entities)],
            ["equal version hashes", Figures.count(fidelity.equal.versionHashes)],
            ["names as in the source", Figures.count(fidelity.names.asInSource.count)],
            ["names by rule", Figures.count(fidelity.names.byRule.count)],
            ["names without evidence", names(fidelity.names.withoutEvidence)],
        ]
        var lines = ["Store \(outline.path)"] + facts.lines()
        lines += fidelity.notes.titled("Notes", indent: 2)
        if fidelity.isEqual {
            lines += ["", "The store is what Core Data makes for the model"]
        } else {
            lines += ["", "Differences"]
            for difference in fidelity.differences {
                lines.append("  \(name(difference.subject)) \(difference.name)")
                lines.append("    expected  \(difference.expected ?? "nothing")")
                lines.append("    found     \(difference.found ?? "nothing")")
            }
            if fidelity.furtherDifferences > 0 {
                lines.append("  and \(Figures.count(fidelity.furtherDifferences)) further ones")
            }
        }
        return lines.printableText
    }

    private static func names(_ names: [String]) -> String {
        names.isEmpty ? "0" : "\(Figures.count(names.count)): \(names.joined(separator: ", "))"
    }

    /// One line that says how many differences there are.
    static func verdict(_ fidelity: StoreFidelity) -> String {
        let count = fidelity.differences.count + fidelity.furtherDifferences
        return count == 1
            ? "The store differs in one place from what Core Data makes for the model"
            : "The store differs in \(Figures.count(count)) places from what Core Data makes for the model"
    }

    private static func name(_ subject: StoreFidelity.Subject) -> String {
        switch subject {
        case .primaryKey: "Z_PRIMARYKEY"
        case .modelCache: "cached model"
        default: subject.rawValue
        }
    }
}
