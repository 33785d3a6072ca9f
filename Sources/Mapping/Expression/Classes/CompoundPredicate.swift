import Foundation

/// AND, OR or NOT of predicates: Core Data's NSCompoundPredicate.
open class CompoundPredicate: FormatPredicate, @unchecked Sendable {
    /// How predicates are joined.
    public enum LogicalType: UInt, Sendable {
        /// The one predicate does not hold.
        case not = 0
        /// All hold; none is true.
        case and
        /// One holds; none is false.
        case or
    }

    /// How the parts are joined.
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

    /// A predicate that holds where all hold; with none, always.
    public convenience init(andPredicateWithSubpredicates subpredicates: [FormatPredicate]) {
        self.init(type: .and, subpredicates: subpredicates)
    }

    /// A predicate that holds where one holds; with none, never.
    public convenience init(orPredicateWithSubpredicates subpredicates: [FormatPredicate]) {
        self.init(type: .or, subpredicates: subpredicates)
    }

    /// A predicate that holds where another does not.
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
