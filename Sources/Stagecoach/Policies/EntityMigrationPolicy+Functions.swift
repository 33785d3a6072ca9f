import Foundation
import Mapping

extension EntityMigrationPolicy: ExpressionFunctions {
    /// Whether a value expression may call a selector on `$entityPolicy`.
    package func knows(selector: String) -> Bool { registeredFunctions.bySelector[selector] != nil }

    /// Calls a function that was registered by its selector.
    ///
    /// - Throws: `policy.unknownSelector`, `policy.argumentCount` (78), `policy.argument` (65); what the method throws,
    ///   as it is.
    package func call(selector: String, arguments: [Any?]) throws -> Any? {
        try registeredFunctions.call(selector, arguments, of: self)
    }

    /// The functions of the registry that made the policy; of the shared one where a program made it itself.
    var registeredFunctions: RegisteredFunctions {
        if let functions { return functions }
        let found = PolicyRegistry.shared.functions(of: type(of: self))
        functions = found
        return found
    }
}
