import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows

/// Counts numbers that conversions would cut, on the source's rows and before a run: see ``ValuesCut``.
///
/// Only entity mappings without user code are counted, whose filters and values a row and the objects at its to-one relationships
/// answer. Nothing is read for a mapping whose conversions hold every number.
///
/// Memory: one batch of rows.
struct ValueCutCount {
    let source: SourceStore
    let layout: StoreLayout
    /// The size of a batch of rows.
    let batchBytes: Int

    /// A program whose number may lose something.
    private struct Narrowing {
        let program: ExpressionProgram
        let label: String
    }

    /// Counts the numbers that mappings would cut.
    ///
    /// - Parameter checkCancelled: called once a batch.
    /// - Complexity: one pass over the rows of each mapping that may cut one.
    func count(_ mappings: [PlannedMapping], checkCancelled: () throws -> Void) throws -> [ValuesCut] {
        let tally = RunTally(layout.schema)
        for mapping in mappings where mapping.isDeclarative && mapping.sourceExpression == nil {
            guard let entity = mapping.source else { continue }
            var slots = SourceColumns(entity: entity, schema: layout.schema)
            let programs = try programs(of: mapping, &slots)
            let filter = try mapping.filter.map { filter throws(MigrationError) in
                try SourceFilter(filter, of: mapping, slots: &slots)
            }
            guard !programs.isEmpty, slots.folds.isEmpty, filter?.needsObjects != true else { continue }
            try forEachRow(of: [entity], slots, checkCancelled) { batch, row, scratch in
                guard try filter?.passes(batch, row, object: { nil }, variables: [:]) ?? true else { return }
                for narrowing in programs {
                    // A value that cannot be computed ends the run or rejects its object; both are told by the run.
                    let cut = try? narrowing.program.evaluate(
                        batch, row: row, into: &scratch, destinationRow: 0, slot: 0)
                    guard let cut, let line = tally.add(cut, of: narrowing.label),
                        let number = narrowing.program.cutNumber(batch, row: row, scratch: &scratch)
                    else { continue }
                    tally.name(
                        .init(object: "\(entity.definition.name)/p\(batch.key(row))", value: number), inLine: line)
                }
            }
        }
        return tally.counts.valuesCut ?? []
    }

    private func programs(
        of mapping: PlannedMapping, _ slots: inout SourceColumns
    ) throws(MigrationError) -> [Narrowing] {
        var found: [Narrowing] = []
        for planned in mapping.attributes where !planned.needsObjects && planned.refusal == nil {
            guard let expression = planned.expression, planned.attribute.attributeType.isNumeric else { continue }
            let program = try ExpressionProgram(
                compiling: expression, to: planned.attribute.attributeType, resolver: &slots, context: mapping.context)
            if program.mayCut { found.append(Narrowing(program: program, label: planned.attribute.label)) }
        }
        return found
    }

    /// Shows the rows of entities of one table, with a row for results.
    private func forEachRow(
        of entities: [EntityDescription], _ slots: SourceColumns, _ checkCancelled: () throws -> Void,
        _ body: (borrowing RowBatch, Int, inout RowBatch) throws -> Void
    ) throws {
        guard let first = entities.first else { return }
        var batch = RowBatch(slots: slots.columns.count, rowCapacity: 500, byteTarget: batchBytes)
        var scratch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        let rows = try source.rows(
            RowSelection(
                table: layout.schema.tableIndex(of: first), columns: slots.columns, entities: entities.map(\.index)),
            in: layout)
        while try rows.next(into: &batch) {
            try checkCancelled()
            for row in 0..<batch.count {
                scratch.removeAll()
                scratch.appendRow(key: 0)
                try body(batch, row, &scratch)
            }
        }
    }

    // MARK: - The price of a conversion

    /// Returns what the values of attributes would lose in other types, in the rows of the entities that declare them and of their
    /// subentities.
    ///
    /// - Complexity: one pass over the rows of each entity with such attributes.
    func prices(
        _ conversions: Set<NumberConversion>, checkCancelled: () throws -> Void
    ) throws -> [NumberConversion: ConversionPrice] {
        var prices: [NumberConversion: ConversionPrice] = [:]
        for (index, wanted) in Dictionary(grouping: conversions, by: \.attribute.entity) {
            let entity = layout.schema.model.entity(at: index)
            var slots = SourceColumns(entity: entity, schema: layout.schema)
            var programs: [(NumberConversion, ExpressionProgram)] = []
            for conversion in wanted {
                let expression = try ValueExpression(parsing: "$source.\(conversion.attribute.name)")
                programs.append(
                    (
                        conversion,
                        try ExpressionProgram(
                            compiling: expression, to: conversion.type, resolver: &slots, context: .init())
                    ))
                prices[conversion] = ConversionPrice()
            }
            try forEachRow(of: entity.withDescendants, slots, checkCancelled) { batch, row, scratch in
                for (conversion, program) in programs where prices[conversion]?.fails == false {
                    do throws(MigrationError) {
                        let cut = try program.evaluate(batch, row: row, into: &scratch, destinationRow: 0, slot: 0)
                        if !scratch[0, 0].isNull { prices[conversion]?.add(cut) }
                    } catch {
                        prices[conversion]?.fails = true
                    }
                }
            }
        }
        return prices
    }
}
