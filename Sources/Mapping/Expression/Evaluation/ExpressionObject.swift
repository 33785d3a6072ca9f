import ManagedModel

/// A managed object, whose properties key paths read.
package protocol ExpressionObject: AnyObject {
    /// Returns the value of a property, as policies see it; an NSSet for a to-many relationship.
    ///
    /// - Throws: an error for an unknown key, or an error of reading.
    func expressionValue(forKey key: String) throws -> Any?

    /// Returns the value of a property if it is a scalar at hand; nil if ``expressionValue(forKey:)`` has to tell. To box a
    /// number and to unbox it takes longer than most evaluations.
    func expressionScalar(forKey key: String) throws -> ExpressionConstant?

    /// The name of the object's entity, for error messages.
    var expressionEntityName: String? { get }

    /// The entity of the object; nil if only its values are known.
    var expressionEntity: EntityDescription? { get }
}

extension ExpressionObject {
    package func expressionScalar(forKey key: String) throws -> ExpressionConstant? { nil }
    package var expressionEntity: EntityDescription? { nil }
}

/// An object whose functions `FUNCTION(target, 'selector:', …)` calls by their selectors: a migration manager or policy.
package protocol ExpressionFunctions: AnyObject {
    /// Calls a function for which ``knows(selector:)`` is true.
    func call(selector: String, arguments: [Any?]) throws -> Any?

    func knows(selector: String) -> Bool
}

/// A context that `FETCH(request, context, countOnly)` fetches from.
package protocol ExpressionFetching: AnyObject {
    /// Returns the objects of a request as an array, or their number as an NSNumber.
    func fetchForExpression(request: Any?, countOnly: Bool) throws -> Any?
}
