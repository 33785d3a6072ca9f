import Diagnostics
import Foundation

/// A method that value expressions may call by its selector.
struct ExpressionFunction: Sendable {
    /// The selector, such as `isbnForIsbn:`.
    let selector: String
    /// The number of arguments that the method takes.
    let arguments: Int
    /// Calls the method of an object, with the arguments that the expression's evaluation gave.
    let call: @Sendable (_ owner: AnyObject, _ arguments: [Any?]) throws -> Any?

    /// The number of colons in the selector: the number of arguments that it announces.
    var colons: Int { selector.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: ":") ? 1 : 0) } }
}

/// The methods of a policy or a manager that value expressions may call, by selector.
///
/// Core Data finds such methods in the Objective-C runtime. Here each method is registered once, with its Swift types:
///
///     PolicyRegistry.register(BookPolicy.self) { functions in
///         functions.add("isbnForIsbn:", BookPolicy.isbn(forIsbn:))
///     }
///
/// The selector is the one that Core Data would use: `isbn(forIsbn:)` is `isbnForIsbn:`, `toInt16(value:)` is
/// `toInt16WithValue:`, `f(forX:manager:)` is `fForX:manager:`, `setDatabase()` is `setDatabase`.
public final class ExpressionFunctionTable {
    private(set) var functions: [String: ExpressionFunction] = [:]
    /// The first wrong registration; nil if there is none.
    private(set) var problem: MigrationError?

    init() {}

    /// Registers a method that expressions may call.
    ///
    /// Parameters and result may be NSNumber, integers, floating-point numbers, Bool, Decimal, String, Date, Data,
    /// UUID, URL, objects, sets, ordered sets and arrays of them, the manager, the entity mapping and Any, optional or
    /// not. If an argument is nil and its parameter is not optional, the run ends with `policy.argument`.
    ///
    /// - Parameters:
    ///   - selector: the selector in the mapping model, with one colon for each argument. Any other number is refused
    ///     with `policy.selector` before the migration begins.
    ///   - method: `Class.method(label:)`.
    public func add<Owner: AnyObject, each Argument, Result>(
        _ selector: String, _ method: @escaping @Sendable (Owner) -> (repeat each Argument) throws -> Result
    ) {
        var count = 0
        func one<Value>(_: Value.Type) { count += 1 }
        repeat one((each Argument).self)
        let function = ExpressionFunction(selector: selector, arguments: count) { owner, arguments in
            guard let owner = owner as? Owner else {
                throw MigrationError(
                    "policy.owner", .configuration,
                    "The selector \(selector) is registered for \(Owner.self), not for \(type(of: owner))")
            }
            var values = ArgumentConversion(selector: selector, owner: owner, arguments: arguments)
            let result = try method(owner)(repeat try values.next((each Argument).self))
            return FunctionResult.value(result)
        }
        if function.colons != count, problem == nil {
            problem = MigrationError(
                "policy.selector", .configuration,
                "The selector \(selector) has \(function.colons.counted("argument")), the method registered for it has \(count)",
                remedy: "Write one colon for each argument", context: .init(policy: "\(Owner.self)"))
        }
        functions[selector] = function
    }
}

/// The functions of a class: its own and those registered for its superclasses.
struct RegisteredFunctions: Sendable {
    var bySelector: [String: ExpressionFunction] = [:]
    var problem: MigrationError?

    /// Calls a function.
    ///
    /// - Throws: `policy.unknownSelector` if no function is registered, `policy.argumentCount`, `policy.argument`; the
    ///   method's own error, unchanged.
    func call(_ selector: String, _ arguments: [Any?], of owner: AnyObject) throws -> Any? {
        guard let function = bySelector[selector] else {
            throw RegisteredFunctions.unknown(selector, of: owner, known: Array(bySelector.keys))
        }
        guard function.arguments == arguments.count else {
            throw MigrationError(
                "policy.argumentCount", .configuration,
                "The function \(selector) takes \(function.arguments.counted("argument")), not \(arguments.count)",
                context: .init(policy: "\(type(of: owner))"))
        }
        return try function.call(owner, arguments)
    }

    static func unknown(_ selector: String, of owner: AnyObject, known: [String]) -> MigrationError {
        MigrationError(
            "policy.unknownSelector", .configuration, "\(type(of: owner)) has no function \(selector)",
            remedy: EditDistance.question(selector, among: known)
                ?? (known.isEmpty
                    ? "Register it: functions.add(\"\(selector)\", \(type(of: owner)).…)"
                    : "Registered are: \(known.sorted().joined(separator: ", "))"),
            context: .init(policy: "\(type(of: owner))"))
    }
}
