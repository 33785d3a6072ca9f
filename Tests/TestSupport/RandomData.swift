import CoreDataStore
import Foundation
import ManagedModel

/// Random rows for a model, within its rules: gaps between keys, dangling references, NULLs, extremes.
enum RandomData {
    /// Fills a store.
    ///
    /// - Parameter rows: most rows of a concrete entity.
    static func fill(
        _ model: ManagedObjectModel, rows: Int, _ generator: inout SeededGenerator
    ) -> ReferenceStore {
        var store = ReferenceStore(model: model)
        var keys = counts(model, rows, &generator)
        for root in model.entities where root.superentity == nil {
            var next: Int64 = 0
            // Entities of one table share its keys, in no particular order.
            var pool = root.withDescendants.flatMap { entity in
                Array(repeating: entity, count: keys[entity.index].count)
            }
            for entity in root.withDescendants { keys[entity.index] = [] }
            pool.shuffle(using: &generator)
            for entity in pool {
                next += generator.chance(4) ? Int64(2 + generator.below(300)) : 1
                keys[entity.index].append(next)
                store.insert(entity.definition.name, next, lock: Int64(1 + generator.below(5)))
                for attribute in entity.attributes where attribute.isStored {
                    let isNull = attribute.isOptional && generator.chance(4)
                    let value = isNull ? .null : value(attribute, &generator)
                    store.set(entity.definition.name, next, attribute.name, value)
                }
            }
            if generator.chance(2) { next += Int64(generator.below(50)) }
            store.setMaximum(next, of: root.definition.name)
        }
        for entity in model.entities {
            for relationship in entity.relationships where relationship.entity == entity && !relationship.isTransient {
                link(relationship, &store, keys, &generator)
            }
        }
        store.complete()
        return store
    }

    /// Takes values of required attributes from some rows, as older versions of programs leave them.
    static func breakRules(of store: inout ReferenceStore, _ generator: inout SeededGenerator) {
        for entity in store.model.entities where !entity.isAbstract {
            let table = store.schema.tableIndex(of: entity)
            let number = Int64(store.schema.number(of: entity))
            for attribute in entity.attributes where attribute.isStored && !attribute.isOptional {
                guard generator.chance(3) else { continue }
                for (key, row) in store.tables[table].sorted(by: { $0.key < $1.key })
                where row.values[EntityTable.entityColumn] == .integer(number) && generator.chance(6) {
                    store.set(entity.definition.name, key, attribute.name, .null)
                }
            }
        }
    }

    /// A placeholder key for each row: none for abstract entities and for those whose required reference would find no
    /// target.
    private static func counts(
        _ model: ManagedObjectModel, _ rows: Int, _ generator: inout SeededGenerator
    ) -> [[Int64]] {
        var keys = model.entities.map { entity in
            Array(repeating: Int64(0), count: entity.isAbstract ? 0 : generator.below(rows + 1))
        }
        for _ in model.entities {
            for entity in model.entities {
                for relationship in entity.relationships where !relationship.isOptional {
                    let targets = relationship.destination.withDescendants.reduce(0) { $0 + keys[$1.index].count }
                    if targets == 0 { keys[entity.index] = [] }
                }
            }
        }
        return keys
    }

    private static func link(
        _ relationship: RelationshipDescription, _ store: inout ReferenceStore, _ keys: [[Int64]],
        _ generator: inout SeededGenerator
    ) {
        let owners = relationship.entity.withDescendants.flatMap { entity in keys[entity.index].map { (entity, $0) } }
        let targets = relationship.destination.withDescendants.flatMap { keys[$0.index] }
        let inverse = relationship.inverseRelationship
        let name = relationship.name
        switch (relationship.isToMany, inverse?.isToMany) {
        case (false, nil), (false, true?):
            var order: Int64 = 2048
            for (owner, key) in owners {
                let isNull = relationship.isOptional && generator.chance(4)
                guard !isNull, !targets.isEmpty else { continue }
                var target = targets[generator.below(targets.count)]
                if relationship.isOptional, generator.chance(15) { target = 100_000 + Int64(generator.below(9)) }
                order += 1024 * Int64(1 + generator.below(2))
                let stored = inverse?.isOrdered == true ? order : nil
                store.setToOne(owner.definition.name, key, name, target, order: stored)
            }
        case (false, false?):
            guard let inverse, (relationship.entity.index, name) <= (inverse.entity.index, inverse.name) else { return }
            var free = targets
            free.shuffle(using: &generator)
            var taken: Set<Int64> = []
            for (owner, key) in owners where !generator.chance(3) {
                // Of a relationship that is its own inverse each object takes part once.
                if inverse == relationship, taken.contains(key) { continue }
                guard let target = free.popLast() else { break }
                if inverse == relationship, taken.contains(target) { continue }
                taken.formUnion([key, target])
                let other = store.entity(of: store.row(relationship.destination.definition.name, target))
                guard let otherName = other?.definition.name else { continue }
                store.setToOne(owner.definition.name, key, name, target)
                store.setToOne(otherName, target, inverse.name, key)
            }
        case (true, nil):
            guard case .toManyHidden(let table, let column, let orderColumn) = store.schema.storage(of: relationship)
            else { return }
            var order: Int64 = 2048
            for target in targets where !owners.isEmpty && !generator.chance(3) {
                let owner = generator.chance(15) ? 100_000 : owners[generator.below(owners.count)].1
                store.setCell(table, target, column, .integer(owner))
                order += 1024
                if let orderColumn { store.setCell(table, target, orderColumn, .integer(order)) }
            }
        case (true, false?): break  // Filled from the to-one side.
        case (true, true?):
            guard case .join(let table, let side) = store.schema.storage(of: relationship),
                let inverse, (relationship.entity.index, name) <= (inverse.entity.index, inverse.name)
            else { return }
            for (position, pair) in owners.enumerated() {
                for _ in 0..<generator.below(4) where !targets.isEmpty {
                    var target = targets[generator.below(targets.count)]
                    if inverse != relationship, generator.chance(20) { target = 100_000 }
                    let order = 2048 + 1024 * Int64(generator.below(40))
                    store.setJoin(
                        table, ownerSide: side, owner: pair.1, member: target,
                        order: relationship.isOrdered ? order : nil)
                    if inverse != relationship {
                        store.setJoin(
                            table, ownerSide: 1 - side, owner: target, member: pair.1,
                            order: inverse.isOrdered ? 2048 + 1024 * Int64(position) : nil)
                    }
                }
            }
        }
    }

    // MARK: Values

    static func value(_ attribute: AttributeDescription, _ generator: inout SeededGenerator) -> ReferenceValue {
        switch attribute.attributeType {
        case .integer16: return .integer(integer(Int64(Int16.min), Int64(Int16.max), &generator))
        case .integer32: return .integer(integer(Int64(Int32.min), Int64(Int32.max), &generator))
        case .integer64: return .integer(integer(.min, .max, &generator))
        case .boolean: return .integer(Int64(generator.below(2)))
        case .float:
            // Some apps leave doubles there that no Float equals.
            let value = real(&generator, limit: 1e30)
            return .real(generator.chance(4) ? value : Double(Float(value)))
        case .double: return .real(real(&generator, limit: .greatestFiniteMagnitude))
        case .date: return .real(Double(generator.below(900_000_000)) + (generator.chance(2) ? 0.25 : 0))
        case .decimal: return generator.chance(2) ? .integer(Int64(generator.below(1000))) : .real(12.75)
        case .string: return .text(text(&generator))
        case .uri: return .text("https://example.org/\(generator.below(100))?q=ä")
        case .uuid: return .blob((0..<16).map { _ in UInt8(generator.below(256)) })
        default:
            let length = [0, 1, 20, 3000][generator.below(4)]
            let bytes = (0..<length).map { _ in UInt8(generator.below(256)) }
            return .blob(attribute.definition.allowsExternalBinaryDataStorage ? [1] + bytes : bytes)
        }
    }

    /// A default of a type, where it has simple ones.
    static func standard(_ type: AttributeType, _ generator: inout SeededGenerator) -> AttributeValue? {
        switch type {
        case .integer16, .integer32, .integer64: .integer(Int64(generator.below(200)) - 100)
        case .boolean: .boolean(generator.chance(2))
        case .float, .double: .double(Double(generator.below(64)) / 8)
        case .decimal: .decimal(Decimal(generator.below(64)) / 4)
        case .date: .date(Double(generator.below(1_000_000)) + 0.5)
        case .string: .string(generator.chance(4) ? "" : "standard ü")
        case .uri: .uri("https://example.org/default")
        default: nil
        }
    }

    private static func integer(_ low: Int64, _ high: Int64, _ generator: inout SeededGenerator) -> Int64 {
        let choices = [low, high, 0, 1, -1, Int64(generator.below(100)), Int64(generator.below(30_000)) - 15_000]
        return choices[generator.below(choices.count)]
    }

    private static func real(_ generator: inout SeededGenerator, limit: Double) -> Double {
        let choices = [0, 1, -1.5, limit, -limit, 0.1, Double(generator.below(1000)) / 3, 1e-30]
        return choices[generator.below(choices.count)]
    }

    private static func text(_ generator: inout SeededGenerator) -> String {
        let choices = [
            "", "a", "Zoë 🚂", "e\u{301}", "it's \"quoted\"\n", "123", String(repeating: "long ", count: 200), "日本語",
        ]
        return choices[generator.below(choices.count)]
    }
}
