import Diagnostics
import Foundation
import Mapping
import Rows

/// A compiled source filter. The parts that a program can compute are read from the cells of a row, batch by batch; the other
/// parts are evaluated on the object.
///
/// Negations are pushed down to the leaves. Above the leaves only true matters, so unknown need not be distinguished from
/// false.
struct SourceFilter {
    private indirect enum Condition {
        case program(PredicateProgram)
        /// A predicate that passes if it is true, or if it is false when negated; never if it is unknown.
        case evaluated(SourcePredicate, isNegated: Bool)
        case all([Condition])
        case any([Condition])
    }

    private let condition: Condition
    /// True if some part needs the object.
    let needsObjects: Bool
    private let mapping: PlannedMapping

    /// Compiles a mapping's filter.
    ///
    /// - Parameter slots: collects the columns that programs read. If ``needsObjects``, it has to begin with all own columns of
    ///   the table, so that objects can be read from the same batch.
    /// - Throws: `expression.…` if neither a program nor an object can evaluate a part.
    init(_ predicate: SourcePredicate, of mapping: PlannedMapping, slots: inout SourceColumns) throws(MigrationError) {
        self.mapping = mapping
        var needsObjects = false
        condition = try Self.compile(
            predicate.node, isNegated: false, mapping.filterNeedsObjects, mapping.context, &slots, &needsObjects)
        self.needsObjects = needsObjects
    }

    private static func compile(
        _ node: PredicateNode, isNegated: Bool, _ mayEvaluate: Bool, _ context: MigrationError.Context,
        _ slots: inout SourceColumns, _ needsObjects: inout Bool
    ) throws(MigrationError) -> Condition {
        let names = slots.schema.model.externalAttributeNames
        do throws(MigrationError) {
            if mayEvaluate, SourcePredicate(node: node).looksIntoExternalData(of: slots.entity, names: names) {
                throw MigrationError("expression.unsupported", .configuration, "External data is read by objects")
            }
            return .program(
                try PredicateProgram(
                    compiling: SourcePredicate(node: isNegated ? .not(node) : node), resolver: &slots, context: context)
            )
        } catch {
            guard mayEvaluate, error.code == "expression.unsupported" else { throw error }
        }
        switch node {
        case .not(let inner):
            return try compile(inner, isNegated: !isNegated, mayEvaluate, context, &slots, &needsObjects)
        case .and(let parts), .or(let parts):
            let conditions = try parts.map { part throws(MigrationError) in
                try compile(part, isNegated: isNegated, mayEvaluate, context, &slots, &needsObjects)
            }
            if case .and = node { return isNegated ? .any(conditions) : .all(conditions) }
            return isNegated ? .all(conditions) : .any(conditions)
        default:
            needsObjects = true
            return .evaluated(SourcePredicate(node: node), isNegated: isNegated)
        }
    }

    /// Tells whether a row passes.
    ///
    /// - Parameters:
    ///   - object: returns the row's object; called only if a part needs it.
    ///   - variables: the values of `$manager` and the other variables.
    /// - Throws: value errors with the mapping and the object, and the errors of user code.
    func passes(
        _ batch: borrowing RowBatch, _ row: Int, object: () -> NSObject?, variables: [String: Any?]
    ) throws -> Bool {
        do {
            return try holds(condition, batch, row, object, variables)
        } catch {
            throw MigrationError.ofUserCode(
                error, "User code that a source filter calls failed", in: mapping.context(ofSource: batch.key(row)))
        }
    }

    private func holds(
        _ condition: Condition, _ batch: borrowing RowBatch, _ row: Int, _ object: () -> NSObject?,
        _ variables: [String: Any?]
    ) throws -> Bool {
        switch condition {
        case .program(let program): return try program.evaluate(batch, row: row)
        case .evaluated(let predicate, let isNegated):
            return try predicate.filterTruth(of: object(), variables: variables) == !isNegated
        case .all(let parts):
            for part in parts where try !holds(part, batch, row, object, variables) { return false }
            return true
        case .any(let parts):
            for part in parts where try holds(part, batch, row, object, variables) { return true }
            return false
        }
    }
}
