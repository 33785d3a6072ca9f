import Diagnostics
import Foundation

/// One method that value expressions may call by its selector.
struct ExpressionFunction: Sendable {
    /// `isbnForIsbn:`.
    let selector: String
    /// Number of arguments that the method takes.
    let arguments: Int
    /// Calls the method of an object; the arguments are as the expression's evaluation gave them.
    let call: @Sendable (_ owner: AnyObject, _ arguments: [Any?]) throws -> Any?

    /// Number of arguments that the selector names: its colons.
    var colons: Int { selector.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: ":") ? 1 : 0) } }
}

/// The methods of a policy or a manager that value expressions may call, by selector.
///
/// Core Data finds such methods in the Objective-C runtime. Here each is registered once, typed as it stands:
///
///     PolicyRegistry.register(BookPolicy.self) { functions in
///         functions.add("isbnForIsbn:", BookPolicy.isbn(forIsbn:))
///     }
///
/// The selector is the one that Core Data would see: `isbn(forIsbn:)` is `isbnForIsbn:`, `toInt16(value:)` is
/// `toInt16WithValue:`, `f(forX:manager:)` is `fForX:manager:`, `setDatabase()` is `setDatabase`.
public final class ExpressionFunctionTable {
    private(set) var functions: [String: ExpressionFunction] = [:]
    /// The first registration that cannot be right.
    private(set) var problem: MigrationError?

    init() {}

    /// Lets expressions call a method.
    ///
    /// Parameters and result may be NSNumber, integers, floating-point numbers, Bool, Decimal, String, Date, Data,
    /// UUID, URL, objects, sets, ordered sets and arrays of them, the manager, the entity mapping and Any, optional
    /// or not. A nil argument of a parameter that is not optional ends the run with `policy.argument`.
    ///
    /// - Parameters:
    ///   - selector: as in the mapping model; one colon for each argument. Any other number is refused with
    ///     `policy.selector` before the migration begins.
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
                "The selector \(selector) has \(function.colons) arguments, the method registered for it has \(count)",
                remedy: "Write one colon for each argument", context: .init(policy: "\(Owner.self)"))
        }
        functions[selector] = function
    }
}

/// What a class answers to: its own functions and those registered for its superclasses.
struct RegisteredFunctions: Sendable {
    var bySelector: [String: ExpressionFunction] = [:]
    var problem: MigrationError?

    /// Calls a function.
    ///
    /// - Throws: `policy.unknownSelector` where nothing is registered, `policy.argumentCount`, `policy.argument`; what the
    ///   method throws, as it is.
    func call(_ selector: String, _ arguments: [Any?], of owner: AnyObject) throws -> Any? {
        guard let function = bySelector[selector] else {
            throw RegisteredFunctions.unknown(selector, of: owner, known: Array(bySelector.keys))
        }
        guard function.arguments == arguments.count else {
            throw MigrationError(
                "policy.argumentCount", .configuration,
                "The function \(selector) takes \(function.arguments) arguments, not \(arguments.count)",
                context: .init(policy: "\(type(of: owner))"))
        }
        return try function.call(owner, arguments)
    }

    static func unknown(_ selector: String, of owner: AnyObject, known: [String]) -> MigrationError {
        MigrationError(
            "policy.unknownSelector", .configuration, "\(type(of: owner)) has no function \(selector)",
            remedy: known.isEmpty
                ? "Register it: functions.add(\"\(selector)\", \(type(of: owner)).…)"
                : "Registered are: \(known.sorted().joined(separator: ", "))",
            context: .init(policy: "\(type(of: owner))"))
    }
}
