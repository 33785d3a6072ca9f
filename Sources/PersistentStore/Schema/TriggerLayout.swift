import ManagedModel

/// The triggers that keep derived attributes up to date, byte for byte those of cdp-s2 (`Book.pagesCount`).
///
/// They call functions that exist in Apple's process only, so they are made after the rows are in, and what they would
/// have done meanwhile is done by ``DerivedValue``.
struct TriggerLayout {
    private(set) var statements: [String] = []
    private(set) var notes: [String] = []

    init(model: ManagedObjectModel, numbering: EntityNumbering, layout: TableLayout) {
        for index in numbering.order {
            let entity = model.entity(at: index)
            for attribute in entity.definition.attributes.sortedByName(\.name) where !attribute.isTransient {
                guard let expression = attribute.derivationExpression else { continue }
                let reference = PropertyReference(entity: index, name: attribute.name)
                if let count = Count(reference, expression: expression, entity: entity, layout: layout) {
                    statements += count.statements
                } else {
                    notes.append(
                        "Derived attribute \(entity.definition.name).\(attribute.name) (\(expression)) has no "
                            + "triggers: Core Data recomputes it when it next saves the object")
                }
            }
        }
    }

    /// `relationship.@count` over a to-many with a to-one inverse.
    private struct Count {
        let entity: String
        let attribute: String
        /// Table and column of the derived attribute.
        let table: String
        let column: String
        /// Table of the members and their column with the owner's key.
        let members: String
        let owner: String

        init?(_ attribute: PropertyReference, expression: String, entity: EntityDescription, layout: TableLayout) {
            let parts = expression.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1] == "@count",
                let relationship = entity.relationship(named: String(parts[0])),
                case .byInverse(let inverse) = RelationshipKind(relationship),
                let key = layout.toOneColumns[inverse.reference],
                let own = layout.tables[layout.tableByEntity[attribute.entity]].attributeColumns[attribute]
            else { return nil }
            let ownTable = layout.tables[layout.tableByEntity[attribute.entity]]
            self.entity = entity.definition.name
            self.attribute = attribute.name
            table = ownTable.name
            column = SQLName.quoted(ownTable.columns[own].name)
            members = layout.tables[key.table].name
            owner = SQLName.quoted(layout.tables[key.table].columns[key.column].name)
        }

        var statements: [String] {
            [
                trigger(
                    "PARAMETER_INSERT", "INSERT", on: members, when: "NEW",
                    "\(column) = IFNULL(\(column), 0) + 1", row: "NEW.\(owner)", function: "Updated"),
                trigger(
                    "PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(owner)", on: members, when: "NEW",
                    "\(column) = \(column) + 1", row: "NEW.\(owner)", function: "Updated"),
                trigger(
                    "PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(owner)", on: members, when: "OLD",
                    "\(column) = \(column) - 1", row: "OLD.\(owner)", function: "Updated"),
                trigger(
                    "PARAMETER_DELETE", "DELETE", on: members, when: "OLD",
                    "\(column) = \(column) - 1", row: "OLD.\(owner)", function: "Updated"),
                trigger(
                    "SOURCE_INSERT", "INSERT", on: table, when: nil,
                    "\(column) = (SELECT IFNULL(COUNT(\(owner)), 0) FROM \(SQLName.quoted(members)) "
                        + "WHERE \(owner) = NEW.Z_PK)",
                    row: "NEW.Z_PK", function: "InsertUpdated"),
            ]
        }

        private func trigger(
            _ suffix: String, _ event: String, on subject: String, when version: String?, _ assignment: String,
            row: String, function: String
        ) -> String {
            let quotedTable = SQLName.quoted(table)
            let condition = version.map { " WHEN (\($0).\(owner) NOT NULL)" } ?? ""
            return "CREATE TRIGGER " + SQLName.quoted("Z_DA_\(subject)_\(entity)_\(attribute)_\(suffix)")
                + " AFTER \(event) ON \(SQLName.quoted(subject)) FOR EACH ROW\(condition) BEGIN "
                + "UPDATE \(quotedTable) SET \(assignment) WHERE Z_PK = \(row); "
                + "SELECT NSCoreDataDATrigger\(function)AffectedObjectValue(\(SQLName.literal(table)), Z_ENT, Z_PK, "
                + "\(SQLName.literal(attribute)), \(column)) FROM \(quotedTable) WHERE Z_PK = \(row); END"
        }
    }
}
