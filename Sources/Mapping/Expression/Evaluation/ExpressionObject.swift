import ManagedModel

/// An object whose properties key paths read: a managed object.
package protocol ExpressionObject: AnyObject {
    /// The value of a property, as policies see it; an NSSet for a to-many relationship.
    ///
    /// - Throws: an error for an unknown key, or one of reading.
    func expressionValue(forKey key: String) throws -> Any?

    /// The name of the object's entity, for error messages.
    var expressionEntityName: String? { get }

    /// The object's entity; nil where only its values are known.
    var expressionEntity: EntityDescription? { get }
}

extension ExpressionObject {
    package var expressionEntity: EntityDescription? { nil }
}

/// An object on which `FUNCTION(target, 'selector:', …)` calls functions by their selectors: a migration manager or policy.
package protocol ExpressionFunctions: AnyObject {
    /// Calls a function that ``knows(selector:)`` knows.
    func call(selector: String, arguments: [Any?]) throws -> Any?

    func knows(selector: String) -> Bool
}

/// A context that `FETCH(request, context, countOnly)` fetches from.
package protocol ExpressionFetching: AnyObject {
    /// The objects of a request as an array, or their number as an NSNumber.
    func fetchForExpression(request: Any?, countOnly: Bool) throws -> Any?
}
