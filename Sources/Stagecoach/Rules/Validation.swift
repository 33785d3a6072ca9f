import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// The handling of broken rules while objects are made and loaded.
///
/// A run that rejects loads optimistically and notes every object that breaks a rule. If there are any, the rejected
/// keys are computed, and everything is loaded again without them, until nothing new breaks a rule.
final class Validation {
    /// The keys of the rows that existed before the mapping model.
    private let keysBefore: KeysBefore
    /// The objects noted so far; nil if the first one ends the run.
    let ledger: RejectLedger?
    /// The counts of all broken rules, for `check`; nil if rejecting is enough.
    let tally: ViolationTally?
    /// The keys that the load leaves out; nil in the first load. An existing row that was invalid in one load may be valid
    /// in the next.
    var rejected: RejectedKeys? {
        didSet { brokenExisting = nil }
    }
    /// The origins of objects; set by the path that makes them.
    var origins: ObjectOrigins?
    /// The way to excuse rules of the source in the mapping model at work; nil if they are excused.
    var excuse: String?
    /// True if a rule of the source was broken and not excused.
    private(set) var brokeRuleOfSource = false
    /// A rule broken by a row that existed before the mapping model. Such a row cannot be left out.
    private(set) var brokenExisting: BrokenRule?

    init(_ keysBefore: KeysBefore, ledger: RejectLedger? = nil, tally: ViolationTally? = nil) {
        self.keysBefore = keysBefore
        self.ledger = ledger
        self.tally = tally
    }

    /// Notes a broken rule of a row that the mapping model made, or ends the run.
    ///
    /// - Throws: `validation.…` (65) if the first one ends the run.
    func note(_ broken: BrokenRule) throws {
        guard let ledger else { throw broken.error(try origins?.origin(broken), excuse: excuse) }
        if broken.isOfSource { brokeRuleOfSource = true }
        // If a value of an object could not be computed, nothing else is reported about its attributes.
        if !broken.isRelationship, broken.rule != .value, ledger.hasValueErrors,
            try ledger.rule(table: broken.table, key: broken.key) == .value
        {
            return
        }
        try ledger.note(broken)
        count(broken, isWarning: false)
    }

    /// Counts a broken rule for `check`. Only the first load counts, because it makes every object.
    func count(_ broken: BrokenRule, isWarning: Bool) {
        if rejected == nil { tally?.count(broken, isWarning: isWarning) }
    }

    /// Notes a rule broken by a row that existed before the mapping model. It ends the run, unless the objects that
    /// make the row invalid may still be rejected.
    ///
    /// - Throws: `validation.…` (65).
    func noteExisting(_ broken: BrokenRule) throws {
        guard tally != nil || ledger != nil else { throw broken.error(nil) }
        count(broken, isWarning: false)
        brokenExisting = brokenExisting ?? broken
    }

    /// Notes that a value of an object could not be computed, or ends the run with the error.
    ///
    /// - Parameter error: thrown if it may concern more than one object; only `value.…` errors concern a single one.
    func note(_ error: MigrationError, _ subject: ValueSubject) throws(MigrationError) {
        guard let ledger, error.category == .data, error.code.rawValue.hasPrefix("value.") else { throw error }
        let broken = BrokenRule(
            table: subject.table, key: subject.key, entity: subject.entity.index,
            entityName: subject.entity.definition.name, property: error.context.property ?? "", rule: .value,
            value: error.message, bound: nil, isRelationship: false)
        // It is added to the tally at the end, because a policy may still delete the object.
        try ledger.note(broken)
    }

    /// Notes a broken rule of any row, also of one that existed before, or ends the run.
    func noteOfAny(_ broken: BrokenRule) throws {
        if keysBefore.isExisting(broken.key, table: broken.table) {
            try noteExisting(broken)
        } else {
            try note(broken)
        }
    }

    /// Computes values of an object. A value that cannot be computed concerns only this object: if objects may be
    /// rejected, the run continues.
    func noting(_ subject: ValueSubject, _ body: () throws(MigrationError) -> Void) throws(MigrationError) {
        do throws(MigrationError) {
            try body()
        } catch {
            try note(error, subject)
        }
    }

    /// Does the same as ``noting(_:_:)`` for user code that may throw errors of its own, which always end the run.
    func notingAny(_ subject: ValueSubject, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as MigrationError {
            try noting(subject) { () throws(MigrationError) in throw error }
        }
    }
}

/// The object whose values are being computed.
struct ValueSubject {
    let table: Int
    let key: Int64
    let entity: EntityDescription
}
