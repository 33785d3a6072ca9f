import Foundation
import Mapping

extension EntityMigrationPolicy: ExpressionFunctions {
    /// Tells whether a value expression may call a selector on `$entityPolicy`.
    package func knows(selector: String) -> Bool { registeredFunctions.bySelector[selector] != nil }

    /// Calls a function that was registered by its selector.
    ///
    /// - Throws: `policy.unknownSelector`, `policy.argumentCount` (78), `policy.argument` (65); the method's own error,
    ///   unchanged.
    package func call(selector: String, arguments: [Any?]) throws -> Any? {
        try registeredFunctions.call(selector, arguments, of: self)
    }

    /// The functions in the registry that made the policy, or in the shared one if a program made the policy itself.
    var registeredFunctions: RegisteredFunctions {
        if let functions { return functions }
        let found = PolicyRegistry.shared.functions(of: type(of: self))
        functions = found
        return found
    }
}
