import Foundation

/// AND, OR or NOT of predicates: Core Data's NSCompoundPredicate.
open class CompoundPredicate: FormatPredicate, @unchecked Sendable {
    /// The ways to join predicates.
    public enum LogicalType: UInt, Sendable {
        /// Holds if the one predicate does not hold.
        case not = 0
        /// Holds if all predicates hold. Without predicates it is true.
        case and
        /// Holds if at least one predicate holds. Without predicates it is false.
        case or
    }

    /// The way in which the parts are joined.
    public let compoundPredicateType: LogicalType
    /// The parts, in order.
    public let subpredicates: [Any]

    /// Joins predicates.
    public init(type: LogicalType, subpredicates: [FormatPredicate]) {
        compoundPredicateType = type
        self.subpredicates = subpredicates
        let parts = subpredicates.map(\.part)
        switch type {
        case .not: super.init(node: .not(parts.first ?? .constant(false)))
        case .and: super.init(node: .and(parts))
        case .or: super.init(node: .or(parts))
        }
    }

    /// Makes a predicate that holds if all parts hold. Without parts it always holds.
    public convenience init(andPredicateWithSubpredicates subpredicates: [FormatPredicate]) {
        self.init(type: .and, subpredicates: subpredicates)
    }

    /// Makes a predicate that holds if at least one part holds. Without parts it never holds.
    public convenience init(orPredicateWithSubpredicates subpredicates: [FormatPredicate]) {
        self.init(type: .or, subpredicates: subpredicates)
    }

    /// Makes a predicate that holds if another does not.
    public convenience init(notPredicateWithSubpredicate predicate: FormatPredicate) {
        self.init(type: .not, subpredicates: [predicate])
    }

    override init(node: PredicateNode) {
        switch node {
        case .not(let inner):
            compoundPredicateType = .not
            subpredicates = [FormatPredicate.make(inner)]
        case .or(let parts):
            compoundPredicateType = .or
            subpredicates = parts.map(FormatPredicate.make)
        case .and(let parts):
            compoundPredicateType = .and
            subpredicates = parts.map(FormatPredicate.make)
        default:
            compoundPredicateType = .and
            subpredicates = [FormatPredicate.make(node)]
        }
        super.init(node: node)
    }
}
