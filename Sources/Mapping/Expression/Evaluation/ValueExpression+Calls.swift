import Diagnostics

extension ValueExpression {
    /// Finds unknown functions and selectors, so that they are errors when a mapping model is loaded.
    ///
    /// - Parameters:
    ///   - knows: tells whether a variable's object (`manager`, `entityPolicy` …) has a selector. It is asked only for
    ///     selectors called on a variable itself, and before the messages of values.
    ///   - isProperty: tells whether a selector without arguments is the name of a property.
    /// - Throws: `expression.syntax` for a text that could not be parsed, `expression.unsupported`, `expression.type` for a
    ///   wrong number of arguments.
    /// - Complexity: O(nodes).
    package func checkCalls(
        knows: (_ variable: String, _ selector: String) -> Bool, isProperty: (String) -> Bool = { _ in false }
    ) throws(MigrationError) {
        for case .expression(let expression) in SyntaxNode.expression(node).descendants {
            if case .opaque(let constant) = expression, let error = constant.failure { throw error }
            guard case .function(let target, let selector, let arguments) = expression else { continue }
            let fault: ProgramFault?
            switch target {
            case nil:
                fault =
                    ExpressionEvaluator.isBuiltIn(selector, arguments: arguments.count)
                    ? nil
                    : .unsupported("the function '\(selector)' with \(arguments.count.counted("argument")) is unknown")
            case .variable(let name)? where name != "source" && name != "destination" && knows(name, selector):
                fault = nil
            default:
                let isKnown =
                    ExpressionMessages.isMessage(selector) || (arguments.isEmpty && isProperty(selector))
                fault =
                    isKnown ? nil : .unsupported("the selector '\(selector)' is unknown", remedy: Self.remedy(target))
                if isKnown, selector.count(where: { $0 == ":" }) != arguments.count {
                    throw ProgramFault.type("'\(selector)' does not take \(arguments.count.counted("argument"))")
                        .described(.configuration, in: .init(expression: ExpressionLexer.excerpt(format)))
                }
            }
            if let fault {
                throw fault.described(.configuration, in: .init(expression: ExpressionLexer.excerpt(format)))
            }
        }
    }

    private static func remedy(_ target: ExpressionNode?) -> String? {
        switch target {
        case .variable("entityPolicy"): "Register the selector with the migration policy"
        case .variable("manager"): "Register the selector with the migration manager"
        default: nil
        }
    }
}
