import Foundation
import ManagedModel
import Mapping

/// A value that a fetch of dictionaries computes: of each object, or by one of the functions `count:`, `sum:`, `average:`, `min:`
/// and `max:` of all objects, or of each group of them.
///
/// ```swift
/// let last = ExpressionDescription()
/// last.name = "last"
/// last.expression = ValueExpression(forFunction: "max:", arguments: [ValueExpression(forKeyPath: "position")])
/// let request = FetchRequest<NSDictionary>(entityName: "Book")
/// request.propertiesToFetch = [last]
/// let position = try manager.sourceContext.fetch(request).first?["last"] as? Int
/// ```
public final class ExpressionDescription: NSObject {
    /// The value's key in the dictionaries.
    public var name = ""
    /// The expression.
    public var expression: ValueExpression?
    /// Has no effect: a value is of the type that its expression gives.
    public var expressionResultType = AttributeType.undefined
    /// Has no effect, as ``expressionResultType``.
    public var resultType = AttributeType.undefined
}

/// An entry of the dictionaries that a fetch gives.
struct FetchedColumn {
    private static let folds: Set<String> = ["count:", "sum:", "average:", "min:", "max:"]

    let name: String
    /// The expression of one object's value; nil: the property of the name.
    private let expression: ValueExpression?
    /// The function of many objects' values; nil if each object has a dictionary of its own.
    let fold: String?

    init(property name: String) { (self.name, expression, fold) = (name, nil, nil) }

    init(_ description: ExpressionDescription, _ given: ValueExpression) {
        name = description.name
        let arguments = given.arguments ?? []
        let isFold = given.expressionType == .function && Self.folds.contains(given.function) && arguments.count == 1
        fold = isFold ? given.function : nil
        expression = isFold ? arguments[0] : given
    }

    /// Returns the value of an object; the id of one that it refers to.
    func value(of object: ManagedObject) throws -> Any? {
        let found: Any? =
            if let expression {
                try expression.evaluate(with: object)
            } else {
                try object.expressionValue(forKey: name)
            }
        let value = try TransformableValue.object(of: found)
        return (value as? ManagedObject)?.objectID ?? value
    }
}

/// The value of a function of many values so far.
struct ValueFold {
    private var count = 0
    private var value: Any?

    /// Takes in a value; nil is left out, as in SQL.
    mutating func add(_ new: Any?, by function: String) throws {
        guard let new else { return }
        count += 1
        guard let value, function != "count:" else {
            self.value = new
            return
        }
        let both = ValueExpression(forConstantValue: [value, new])
        let step = ValueExpression(forFunction: function == "average:" ? "sum:" : function, arguments: [both])
        self.value = try step.evaluate(with: nil)
    }

    /// Returns the function's value; nil without values, but for the count.
    func result(of function: String) -> Any? {
        switch function {
        case "count:": NSNumber(value: count)
        case "average:": (value as? NSNumber).map { NSNumber(value: $0.doubleValue / Double(count)) }
        default: value
        }
    }
}
