import Mapping

/// A predicate divided into conditions that cells can answer and conditions that need the object.
///
/// Negations are applied only to single conditions. There unknown can be treated as false, because nothing above them
/// negates it again.
indirect enum FetchCondition {
    case constant(Bool)
    /// A cell holds exactly the given value, or another one that the condition finds equal.
    case holds(ColumnValue, slot: Int, otherwise: LaterCondition)
    /// A compiled predicate that reads cells.
    case program(PredicateProgram)
    /// The object is one of the given ones; negated: none of them.
    case isObject(among: Set<Int64>, isNegated: Bool)
    /// A key column holds one of the given keys; negated: another key. NULL fulfils neither.
    case reference(slot: Int, among: Set<Int64>, isNegated: Bool)
    /// A key column is NULL; negated: it is not NULL.
    case isNull(slot: Int, isNegated: Bool)
    /// A to-one relationship of the destination leads to one of the given objects; negated: to another one.
    case partner(LinkStore, LinkStore.Side, among: Set<Int64>, isNegated: Bool)
    /// A relationship of the destination is empty; negated: it is not empty.
    case isUnlinked(LinkStore, LinkStore.Side, isNegated: Bool)
    /// A to-many relationship of the destination has one of the given objects.
    case hasMember(LinkStore, LinkStore.Side, among: Set<Int64>)
    /// A predicate evaluated on the object. If one of the key paths gives nil, a comparison is unknown, unlike in
    /// NSPredicate's own two-valued logic.
    case evaluated(SourcePredicate, known: [String])
    case all([FetchCondition])
    case any([FetchCondition])
}
