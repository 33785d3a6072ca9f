/// What becomes of properties that cannot be mapped without being told how: a changed type, a to-many that became a to-one,
/// a relationship that points to something else, an attribute that became a relationship.
public enum UnmappableProperties: String, Sendable, CaseIterable {
    /// No mapping model is inferred.
    case refuse
    /// They are left without an expression: an attribute keeps the model's default, or is nil; a relationship is empty,
    /// or what its inverse makes it. What is left behind is counted and named. Entities of two hierarchies that are put
    /// into one are refused all the same: the keys of their objects would collide.
    case leave
}

/// Why a property has no expression, where one was to be expected.
package struct UnmappedProperty: Sendable, Equatable {
    /// The source property whose values stay behind; nil where it is not known.
    package var source: String?
    /// A sentence without a full stop.
    package var reason: String

    package init(source: String?, reason: String) {
        self.source = source
        self.reason = reason
    }
}
