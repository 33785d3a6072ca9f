import struct Foundation.Date

/// What an evaluation takes from the run around it: the time, and a place for failures of calls that cannot throw.
///
/// The engine sets it around a policy's call: `EvaluationScope.$current.withValue(scope) { … }`. It holds for
/// everything that the call does on its thread and task.
package struct EvaluationScope: Sendable {
    /// What `now()` is, in seconds since 2001: the run's journaled start. Nil outside a run: the clock's time.
    package var now: Double?
    /// Takes failures of `expressionValue(with:context:)`, `evaluate(with:)` and of sorting. Nil outside a run: they
    /// are dropped, and the call gives nil or false.
    package var record: (@Sendable (any Error) -> Void)?

    /// Objects that one FETCH may give at a time, where nothing else bounds them; nil: any number.
    package var mostFetched: Int?

    package init(now: Double? = nil, record: (@Sendable (any Error) -> Void)? = nil) {
        self.now = now
        self.record = record
    }

    @TaskLocal package static var current = EvaluationScope()

    /// The time of the run, or of the clock.
    package static var time: Double { current.now ?? Date().timeIntervalSinceReferenceDate }

    /// Gives a value, or records why there is none.
    static func recording<Value>(_ fallback: Value, _ body: () throws -> Value) -> Value {
        do {
            return try body()
        } catch {
            current.record?(error)
            return fallback
        }
    }
}
