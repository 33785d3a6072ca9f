import Diagnostics
import ManagedModel
import Rows

import struct Foundation.Date

/// The predicate of a source filter, compiled: it says of each source row whether it passes.
///
/// It follows SQL's logic for nil: a comparison with nil is unknown, unknown stays unknown under NOT, and a row of
/// which the whole is unknown drops out. `x == nil` and `x != nil` with a literal nil ask whether there is a value.
package struct PredicateProgram: Sendable {
    /// The answer where it is the same for all rows.
    package let constant: Bool?
    private let code: ProgramCode
    private let context: MigrationError.Context

    /// Compiles a predicate over the source object's attributes and to-one relationships.
    ///
    /// - Parameters:
    ///   - resolver: gives slots to key paths, which may be bare, from SELF or from `$source`.
    ///   - context: where the predicate stands; its text is filled in.
    ///   - now: what `now()` is, in seconds since 2001: the run's journaled start.
    /// - Throws: as ``ExpressionProgram``.
    package init(
        compiling predicate: SourcePredicate, resolver: inout some KeyPathResolver, context: MigrationError.Context,
        now: Double = Date().timeIntervalSinceReferenceDate
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
            if finished.readsRow {
                constant = nil
            } else {
                let empty = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
                constant = try ProgramRun.truth(finished, empty, row: 0)
            }
        } catch {
            throw error.described(.configuration, in: context)
        }
    }

    /// Whether a row passes the filter.
    ///
    /// - Throws: `value.outOfRange`, `value.divisionByZero`, `value.type` (65); the caller adds the object.
    package func evaluate(_ source: borrowing RowBatch, row: Int) throws(MigrationError) -> Bool {
        if let constant { return constant }
        do throws(ProgramFault) {
            return try ProgramRun.truth(code, source, row: row)
        } catch {
            throw error.described(.data, in: context)
        }
    }
}
