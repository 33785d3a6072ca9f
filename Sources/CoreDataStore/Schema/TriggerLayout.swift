import ManagedModel

/// The triggers that maintain derived attributes, byte for byte those of real stores: counts of a to-many relationship
/// (SampleModel2_V1: `Book.pagesCount`) and key paths over one to-one relationship (ChatModel: `ManagedChat.avatarURL`).
///
/// They call functions that exist only in Apple's process, so they are created after the rows are inserted. Until then
/// ``DerivedValue`` does their work.
struct TriggerLayout {
    private(set) var statements: [String] = []
    private(set) var notes: [String] = []

    init(model: ManagedObjectModel, numbering: EntityNumbering, layout: TableLayout) {
        for index in numbering.order {
            let entity = model.entity(at: index)
            for attribute in entity.definition.attributes.sortedByName(\.name) where !attribute.isTransient {
                guard let expression = attribute.derivationExpression else { continue }
                let reference = PropertyReference(entity: index, name: attribute.name)
                let made = DerivedColumn(reference, of: entity, in: layout).flatMap { column in
                    column.countTriggers(expression, entity, layout)
                        ?? column.keyPathTriggers(expression, entity, layout)
                }
                if let made {
                    statements += made
                } else {
                    notes.append(
                        "Derived attribute \(entity.definition.name).\(attribute.name) (\(expression)) has no "
                            + "triggers: Core Data recomputes it when it next saves the object")
                }
            }
        }
    }
}

/// The column of a derived attribute, as its triggers name it.
private struct DerivedColumn {
    let entity: String
    let attribute: String
    let table: String
    /// The name, quoted if SQLite needs it.
    let column: String

    init?(_ attribute: PropertyReference, of entity: EntityDescription, in layout: TableLayout) {
        let own = layout.tables[layout.tableByEntity[attribute.entity]]
        guard let column = own.attributeColumns[attribute] else { return nil }
        self.entity = entity.definition.name
        self.attribute = attribute.name
        table = own.name
        self.column = SQLName.quoted(own.columns[column].name)
    }

    /// Returns the five triggers of `relationship.@count` over a to-many relationship with a to-one inverse; nil for another
    /// expression.
    func countTriggers(_ expression: String, _ entity: EntityDescription, _ layout: TableLayout) -> [String]? {
        let parts = expression.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == "@count", let relationship = entity.relationship(named: String(parts[0])),
            case .byInverse(let inverse) = RelationshipKind(relationship),
            let key = layout.toOneColumns[inverse.reference]
        else { return nil }
        let members = layout.tables[key.table].name
        let owner = SQLName.quoted(layout.tables[key.table].columns[key.column].name)
        func counted(_ suffix: String, _ event: String, _ version: String, _ value: String) -> String {
            trigger(
                suffix, event, on: members, when: "\(version).\(owner) NOT NULL", setting: value,
                where: "Z_PK = \(version).\(owner)", function: "Updated")
        }
        return [
            counted("PARAMETER_INSERT", "INSERT", "NEW", "IFNULL(\(column), 0) + 1"),
            counted("PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(owner)", "NEW", "\(column) + 1"),
            counted("PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(owner)", "OLD", "\(column) - 1"),
            counted("PARAMETER_DELETE", "DELETE", "OLD", "\(column) - 1"),
            trigger(
                "SOURCE_INSERT", "INSERT", on: table,
                setting:
                    "(SELECT IFNULL(COUNT(\(owner)), 0) FROM \(SQLName.quoted(members)) WHERE \(owner) = NEW.Z_PK)",
                where: "Z_PK = NEW.Z_PK", function: "InsertUpdated"),
        ]
    }

    /// Returns the four triggers of `relationship.attribute` over a to-one relationship; nil for another expression.
    func keyPathTriggers(_ expression: String, _ entity: EntityDescription, _ layout: TableLayout) -> [String]? {
        let parts = expression.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let relationship = entity.relationship(named: parts[0]),
            let key = layout.toOneColumns[relationship.reference],
            let read = relationship.destination.attribute(named: parts[1])
        else { return nil }
        let other = layout.tables[layout.tableByEntity[relationship.destination.index]]
        guard let place = other.attributeColumns[read.reference] else { return nil }
        let value = SQLName.quoted(other.columns[place].name)
        let owner = SQLName.quoted(layout.tables[key.table].columns[key.column].name)
        let looked = "(SELECT \(value) FROM \(SQLName.quoted(other.name)) WHERE Z_PK = NEW.\(owner))"
        let isOwn = "Z_PK = NEW.Z_PK"
        let isReferring = "\(owner) = NEW.Z_PK"
        return [
            trigger(
                "SOURCE_INSERT", "INSERT", on: table, setting: looked, where: isOwn, function: "InsertUpdated"),
            trigger(
                "SOURCE_UPDATE", "UPDATE OF \(owner)", on: table, setting: looked, where: isOwn, function: "Updated"),
            trigger(
                "PARAMETER_INSERT", "INSERT", on: other.name, setting: "NEW.\(value)", where: isReferring,
                function: "InsertUpdated"),
            trigger(
                "PARAMETER_UPDATE", "UPDATE OF \(value)", on: other.name, setting: "NEW.\(value)", where: isReferring,
                function: "Updated"),
        ]
    }

    /// Returns one CREATE TRIGGER statement.
    ///
    /// - Parameters:
    ///   - suffix: the end of the trigger's name.
    ///   - event: the event that fires it.
    ///   - subject: the table of the event.
    ///   - version: a condition on the event's row; if nil, it always fires.
    ///   - value: the new value of the derived column.
    ///   - condition: the rows that change.
    ///   - function: the middle of the name of the function that reports them to Core Data.
    private func trigger(
        _ suffix: String, _ event: String, on subject: String, when version: String? = nil, setting value: String,
        where condition: String, function: String
    ) -> String {
        let quoted = SQLName.quoted(table)
        return "CREATE TRIGGER " + SQLName.quoted("Z_DA_\(subject)_\(entity)_\(attribute)_\(suffix)")
            + " AFTER \(event) ON \(SQLName.quoted(subject)) FOR EACH ROW" + (version.map { " WHEN (\($0))" } ?? "")
            + " BEGIN UPDATE \(quoted) SET \(column) = \(value) WHERE \(condition); "
            + "SELECT NSCoreDataDATrigger\(function)AffectedObjectValue(\(SQLName.literal(table)), Z_ENT, Z_PK, "
            + "\(SQLName.literal(attribute)), \(column)) FROM \(quoted) WHERE \(condition); END"
    }
}
