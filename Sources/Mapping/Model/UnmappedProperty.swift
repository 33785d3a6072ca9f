/// The reason why a property has no expression although it has a counterpart.
package struct UnmappedProperty: Sendable, Equatable {
    /// The source property whose values stay behind; nil if it is unknown.
    package var source: String?
    /// A sentence without a full stop.
    package var reason: String
    /// The decision that a template asks for, in words; nil if the property was left on request.
    package var question: String?
}
