extension PortStubs {
    /// The beginning of the stubs that ported copies get: the type that stands for anything that is missing.
    static let base = #"""
        // Stubs of types that are not on Linux, or that no ported source declares. They compile; whoever uses one ends the
        // process with its name. Replace each by what the policies need of it.

        func stop(_ name: String) -> Never { fatalError("\(name) is a stub: see Stubs.swift") }

        /// A value that a stub would have.
        @dynamicMemberLookup @dynamicCallable
        struct Missing {
            static subscript(dynamicMember member: String) -> Missing { stop(member) }
            subscript(dynamicMember member: String) -> Missing {
                get { stop(member) }
                nonmutating set { stop(member) }
            }
            subscript<Value>(dynamicMember member: String) -> Value {
                get { stop(member) }
                nonmutating set { stop(member) }
            }
            subscript(index: Any?) -> Missing {
                get { stop("A subscript") }
                nonmutating set { stop("A subscript") }
            }
            @_disfavoredOverload subscript<Value>(index: Any?) -> Value {
                get { stop("A subscript") }
                nonmutating set { stop("A subscript") }
            }
            @_disfavoredOverload subscript<Value>(key: Missing) -> Value {
                get { stop("A subscript") }
                nonmutating set { stop("A subscript") }
            }
            @discardableResult
            func dynamicallyCall(withArguments arguments: [Any?]) -> Missing { stop("A call") }
            @discardableResult @_disfavoredOverload
            func dynamicallyCall(withArguments arguments: [(Missing) -> Void]) -> Missing { stop("A call") }
            @discardableResult
            func dynamicallyCall(withKeywordArguments arguments: KeyValuePairs<String, Any?>) -> Missing { stop("A call") }
            func dynamicallyCall<Value>(withArguments arguments: [Any?]) -> Value { stop("A call") }
            func dynamicallyCall<Value>(withKeywordArguments arguments: KeyValuePairs<String, Any?>) -> Value {
                stop("A call")
            }
            static prefix func ! (value: Missing) -> Bool { stop("!") }
            static prefix func - (value: Missing) -> Missing { stop("-") }
            static func + <Value>(left: Missing, right: Value) -> Missing { stop("+") }
            static func - <Value>(left: Missing, right: Value) -> Missing { stop("-") }
            static func * <Value>(left: Missing, right: Value) -> Missing { stop("*") }
            static func / <Value>(left: Missing, right: Value) -> Missing { stop("/") }
            static func % <Value>(left: Missing, right: Value) -> Missing { stop("%") }
            static func < <Value>(left: Missing, right: Value) -> Bool { stop("<") }
            static func > <Value>(left: Missing, right: Value) -> Bool { stop(">") }
            static func <= <Value>(left: Missing, right: Value) -> Bool { stop("<=") }
            static func >= <Value>(left: Missing, right: Value) -> Bool { stop(">=") }
            @_disfavoredOverload static func + <Value>(left: Value, right: Missing) -> Missing { stop("+") }
            @_disfavoredOverload static func - <Value>(left: Value, right: Missing) -> Missing { stop("-") }
            @_disfavoredOverload static func * <Value>(left: Value, right: Missing) -> Missing { stop("*") }
            @_disfavoredOverload static func / <Value>(left: Value, right: Missing) -> Missing { stop("/") }
            @_disfavoredOverload static func % <Value>(left: Value, right: Missing) -> Missing { stop("%") }
            @_disfavoredOverload static func < <Value>(left: Value, right: Missing) -> Bool { stop("<") }
            @_disfavoredOverload static func > <Value>(left: Value, right: Missing) -> Bool { stop(">") }
            @_disfavoredOverload static func <= <Value>(left: Value, right: Missing) -> Bool { stop("<=") }
            @_disfavoredOverload static func >= <Value>(left: Value, right: Missing) -> Bool { stop(">=") }
            @_disfavoredOverload static func == <Value>(left: Value, right: Missing) -> Bool { stop("==") }
            @_disfavoredOverload static func != <Value>(left: Value, right: Missing) -> Bool { stop("!=") }
        }

        extension Missing: Sequence, IteratorProtocol {
            func next() -> Missing? { stop("An iteration") }
            var first: Missing! { stop("first") }
            var last: Missing! { stop("last") }
            var count: Int {
                get { stop("count") }
                nonmutating set { stop("count") }
            }
            @discardableResult func count(_ value: Any?) -> Missing { stop("count") }
            var isEmpty: Bool { stop("isEmpty") }
            func filter(_ format: String, _ arguments: Any?...) -> Missing { stop("filter") }
            func sorted(byKeyPath path: String, ascending: Bool = true) -> Missing { stop("sorted") }
        }

        extension Missing: Hashable, Comparable {
            static func < (left: Missing, right: Missing) -> Bool { stop("<") }
            static func == (left: Missing, right: Missing) -> Bool { stop("==") }
            static func == <Value>(left: Missing, right: Value) -> Bool { stop("==") }
            static func != <Value>(left: Missing, right: Value) -> Bool { stop("!=") }
        }

        extension NSNumber {
            convenience init(value: Missing) { stop("NSNumber(value:)") }
        }

        extension BinaryInteger {
            init(_ value: Missing) { stop("A number") }
        }

        extension BinaryFloatingPoint {
            init(_ value: Missing) { stop("A number") }
        }

        extension String {
            init(_ value: Missing) { stop("A text") }
        }

        extension Missing: Error {}

        extension Missing: ExpressibleByNilLiteral {
            init(nilLiteral: ()) { stop("nil") }
        }

        extension Missing: CVarArg {
            var _cVarArgEncoding: [Int] { stop("A format") }
        }

        /// The plain types to which the app may add members.
        protocol Extended {}
        protocol ExtendedOptionally {}
        extension String: Extended, ExtendedOptionally {}
        extension Date: Extended, ExtendedOptionally {}
        extension URL: Extended, ExtendedOptionally {}
        extension Data: Extended, ExtendedOptionally {}
        extension Int: Extended, ExtendedOptionally {}
        extension Double: Extended, ExtendedOptionally {}
        extension UUID: Extended, ExtendedOptionally {}
        extension Optional: Extended {}
        extension Array: Extended, ExtendedOptionally {}
        extension Set: Extended, ExtendedOptionally {}
        extension Dictionary: Extended, ExtendedOptionally {}

        /// A log of the app, whose messages go to standard error.
        @dynamicMemberLookup @dynamicCallable
        struct MessageLog: Sendable {
            subscript(dynamicMember member: String) -> MessageLog { self }
            func dynamicallyCall(withKeywordArguments arguments: KeyValuePairs<String, Any?>) {
                NSLog("%@", arguments.map { "\($0.value ?? "nil")" }.joined(separator: " "))
            }
        }

        """#
}
