import Diagnostics
import Rows

/// The compiled predicate of a source filter. It tells for each source row if it passes.
///
/// It follows SQL's logic for nil: a comparison with nil is unknown, and unknown stays unknown under NOT. A row for which the
/// whole predicate is unknown is left out. `x == nil` and `x != nil` with a literal nil test if there is a value.
package struct PredicateProgram: Sendable {
    /// The answer if it is the same for all rows.
    package let constant: Bool?
    private let code: ProgramCode
    private let context: MigrationError.Context

    /// Compiles a predicate over the source object's attributes and to-one relationships.
    ///
    /// - Parameters:
    ///   - resolver: gives slots to key paths, which may be bare, from SELF or from `$source`.
    ///   - context: the place of the predicate; its text is filled in here.
    ///   - now: the value of `now()`, in seconds since 2001: the journaled start of the run.
    /// - Throws: as ``ExpressionProgram``.
    package init(
        compiling predicate: SourcePredicate, resolver: inout some KeyPathResolver, context: MigrationError.Context,
        now: Double = EvaluationScope.time
    ) throws(MigrationError) {
        var context = context
        context.expression = context.expression ?? ExpressionLexer.excerpt(predicate.format)
        self.context = context
        var compiler = ProgramCompiler(resolver: resolver, isFilter: true, now: now)
        do throws(ProgramFault) {
            try compiler.compile(predicate.node, into: 0)
            resolver = compiler.resolver
            let finished = compiler.finish()
            code = finished
            if finished.draft.readsRow {
                constant = nil
            } else {
                let empty = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
                constant = try ProgramRun.truth(finished, empty, row: 0)
            }
        } catch {
            throw error.described(.configuration, in: context)
        }
    }

    /// Tells whether a row passes the filter.
    ///
    /// - Throws: `value.outOfRange`, `value.divisionByZero`, `value.type` (65); the caller adds the object.
    package func evaluate(_ source: borrowing RowBatch, row: Int) throws(MigrationError) -> Bool {
        if let constant { return constant }
        do throws(ProgramFault) { return try ProgramRun.truth(code, source, row: row) } catch {
            throw error.described(.data, in: context)
        }
    }
}
