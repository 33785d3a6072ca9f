import ManagedModel

import struct Foundation.Date

/// The values that an evaluation takes from the run: the time, the models, and a handler for failures of calls that cannot throw.
///
/// The engine sets it around a policy's call: `EvaluationScope.$current.withValue(scope) { … }`. It applies to all work of the
/// call on its thread and task.
package struct EvaluationScope: Sendable {
    /// The value of `now()`, in seconds since 2001: the journaled start of the run. Nil outside a run: the clock's time.
    package var now: Double?
    /// Receives failures of `expressionValue(with:context:)`, `evaluate(with:)` and sorting. Nil outside a run: failures are
    /// dropped, and the call gives nil or false.
    package var record: (@Sendable (any Error) -> Void)?

    /// The greatest number of objects that one FETCH may give if nothing else limits it; nil for any number.
    package var mostFetched: Int?

    /// The models of the run: the destination's, then the source's. Empty outside a run.
    package let models: [ManagedObjectModel]

    package init(
        now: Double? = nil, models: [ManagedObjectModel] = [], record: (@Sendable (any Error) -> Void)? = nil
    ) {
        self.now = now
        self.models = models
        self.record = record
    }

    @TaskLocal package static var current = EvaluationScope()

    /// The time of the run or, outside a run, of the clock.
    package static var time: Double { current.now ?? Date().timeIntervalSinceReferenceDate }

    /// Returns the value of a closure. If the closure throws, records the error and returns the fallback.
    static func recording<Value>(_ fallback: Value, _ body: () throws -> Value) -> Value {
        do { return try body() } catch {
            current.record?(error)
            return fallback
        }
    }
}
