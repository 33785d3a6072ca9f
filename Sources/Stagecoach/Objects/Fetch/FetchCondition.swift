import Mapping

/// A predicate taken apart: what can be answered from the cells of a row, and what needs the object.
///
/// Negations stand at the leaves, so that unknown, which is not true, can be told apart nowhere above them.
indirect enum FetchCondition {
    case constant(Bool)
    /// Compiled: reads cells.
    case program(PredicateProgram)
    /// The object itself is one of these, or none of these.
    case isObject(among: Set<Int64>, isNegated: Bool)
    /// A key column holds one of these keys, or another one; NULL is neither.
    case reference(slot: Int, among: Set<Int64>, isNegated: Bool)
    /// A key column is NULL, or is not.
    case isNull(slot: Int, isNegated: Bool)
    /// A to-one relationship of the destination leads to one of these objects, or to another one.
    case partner(LinkStore, LinkStore.Side, among: Set<Int64>, isNegated: Bool)
    /// A relationship of the destination leads to nothing, or to something.
    case isUnlinked(LinkStore, LinkStore.Side, isNegated: Bool)
    /// A to-many relationship of the destination has one of these objects.
    case hasMember(LinkStore, LinkStore.Side, among: Set<Int64>)
    /// Evaluated on the object. Where one of the key paths gives nil, a comparison is unknown, whatever NSPredicate's own
    /// two-valued logic says.
    case evaluated(SourcePredicate, known: [String])
    case all([FetchCondition])
    case any([FetchCondition])
}
