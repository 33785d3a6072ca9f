import ManagedModel

extension ReferenceStore {
    /// Random rows for a given model, within its rules for required values and uniqueness: gaps between keys, dangling
    /// references, NULLs, extremes. The same for the same seed.
    ///
    /// - Parameter rows: most rows of a concrete entity.
    package static func random(_ model: ManagedObjectModel, rows: Int, seed: UInt64) -> ReferenceStore {
        var generator = SeededGenerator(seed: seed)
        var store = RandomData.fill(model, rows: rows, &generator)
        for entity in model.entities {
            for name in entity.definition.uniquenessConstraints.joined() {
                store.number(name, of: entity)
            }
        }
        return store
    }

    /// Makes the values of an attribute differ from row to row.
    private mutating func number(_ name: String, of entity: EntityDescription) {
        guard let attribute = entity.attribute(named: name) else { return }
        let table = schema.tableIndex(of: entity)
        for (key, row) in tables[table] {
            guard let own = self.entity(of: row, inTable: table), own.isKindOf(entity: entity) else { continue }
            switch attribute.attributeType {
            case .string, .uri: set(own.definition.name, key, name, .text("\(name) \(key)"))
            case .uuid: set(own.definition.name, key, name, .blob((0..<16).map { UInt8((key >> ($0 % 8 * 8)) & 255) }))
            case .boolean: break
            default:
                if attribute.attributeType.isNumeric { set(own.definition.name, key, name, .integer(key)) }
            }
        }
    }
}

extension ReferenceStore {
    /// Gives the rows of an entity and its subentities few values of an attribute, and some nil if it may be.
    mutating func fill(
        _ attribute: AttributeDescription, of entity: EntityDescription, from values: [ReferenceValue],
        _ generator: inout SeededGenerator
    ) {
        guard let column = schema.column(of: attribute), !values.isEmpty else { return }
        let table = schema.tableIndex(of: entity)
        for key in tables[table].keys.sorted() {
            guard let row = tables[table][key],
                self.entity(of: row, inTable: table)?.isKindOf(entity: entity) == true
            else { continue }
            let isNil = attribute.isOptional && generator.chance(4)
            tables[table][key]?.values[column] = isNil ? .null : values[generator.below(values.count)]
        }
    }
}
