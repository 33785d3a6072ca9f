import Foundation

/// The error type of all layers: the problem, its place, and the remedy.
///
/// The struct carries data; ``description`` and the command make the text for people from it.
///
/// ```swift
/// do {
///     _ = try migration.run()
/// } catch let error as MigrationError {
///     print(error.code.rawValue, error.message, error.context.objectID ?? "", error.remedy ?? "")
///     // 75: the same command can be run again.
///     exit(error.category.rawValue)
/// }
/// ```
public struct MigrationError: Error, Sendable {
    /// A stable name of the error, for programs: `model.parse`, `store.notADatabase`, …
    public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }
    }

    /// The kind of failure, by its exit code (sysexits).
    public enum Category: Int32, Sendable {
        /// A wrong command line.
        case usage = 64
        /// The input's data breaks a rule: rejected rows, an invalid store.
        case data = 65
        /// An input is missing or cannot be read.
        case noInput = 66
        /// A defect of the program itself.
        case `internal` = 70
        /// An output cannot be created.
        case cannotCreate = 73
        /// Reading or writing failed: disk full, I/O error.
        case io = 74
        /// Interrupted, busy, or the source was changed meanwhile: the same command can be run again.
        case temporary = 75
        /// Permission is missing.
        case permission = 77
        /// A bad model, mapping model, plan or limit.
        case configuration = 78
    }

    /// The place of the error. Every part is optional.
    public struct Context: Sendable, Equatable {
        /// File or folder, by the path at which people know it.
        public var path: String? {
            didSet { path = path.map(OpenFolders.shown) }
        }
        /// One-based line in a text file.
        public var line: Int?
        /// One-based column, in characters, in a text file.
        public var column: Int?
        /// Entity name.
        public var entity: String?
        /// Object id: `Entity/p<key>`.
        public var objectID: String?
        /// The source object that the error is about, `Entity/p<key>`, if it is known: ``objectID`` itself, or the source of
        /// that object. In a chain of versions it is an object of the chain's source.
        public var sourceObjectID: String?
        /// Attribute or relationship name.
        public var property: String?
        /// Entity mapping name.
        public var entityMapping: String?
        /// Expression or predicate text.
        public var expression: String?
        /// Policy class name and method.
        public var policy: String?

        /// Makes a context from the known parts; the others are nil.
        public init(
            path: String? = nil, line: Int? = nil, column: Int? = nil, entity: String? = nil,
            objectID: String? = nil, property: String? = nil, entityMapping: String? = nil,
            expression: String? = nil, policy: String? = nil
        ) {
            self.path = path.map(OpenFolders.shown)
            self.line = line
            self.column = column
            self.entity = entity
            self.objectID = objectID
            self.property = property
            self.entityMapping = entityMapping
            self.expression = expression
            self.policy = policy
        }

        /// Returns this context, with missing parts filled in from another.
        public func filled(from outer: Context) -> Context {
            var context = Context(
                path: path ?? outer.path, line: line ?? outer.line, column: column ?? outer.column,
                entity: entity ?? outer.entity, objectID: objectID ?? outer.objectID,
                property: property ?? outer.property, entityMapping: entityMapping ?? outer.entityMapping,
                expression: expression ?? outer.expression, policy: policy ?? outer.policy)
            context.sourceObjectID = sourceObjectID ?? outer.sourceObjectID
            return context
        }
    }

    /// The stable code, `area.problem`.
    public var code: Code
    /// The kind of failure, which is also the exit code.
    public var category: Category
    /// A sentence without a full stop that says what is wrong.
    public var message: String
    /// A sentence that says what the user can do; nil if the message says it.
    public var remedy: String?
    /// The place of the error.
    public var context: Context
    /// The underlying error, unchanged.
    public var cause: (any Error)?
    /// The error's code and user info in Cocoa's domain, as far as its other parts do not say them.
    package var cocoa: CocoaDetails?

    /// Makes an error from its code, category, message (a sentence without a full stop) and remedy.
    public init(
        _ code: Code, _ category: Category, _ message: String, remedy: String? = nil,
        context: Context = Context(), cause: (any Error)? = nil
    ) {
        self.code = code
        self.category = category
        self.message = message
        self.remedy = remedy
        self.context = context
        self.cause = cause
    }

    /// Returns the same error, with missing parts of its context filled in from an outer one.
    public func inside(_ outer: Context) -> MigrationError {
        var copy = self
        copy.context = context.filled(from: outer)
        return copy
    }
}

/// The part of an error in Cocoa's domain that its other properties do not give: entries of the user info, and a code. The code
/// is nil if it follows from the error's own code.
package final class CocoaDetails: @unchecked Sendable {
    package let code: Int?
    package let userInfo: [String: Any]

    package init(_ code: Int?, _ userInfo: [String: Any] = [:]) {
        self.code = code
        self.userInfo = userInfo
    }
}

extension MigrationError {
    /// Replaces the source object by the object that it comes from itself, wherever the error names it. In a chain of versions
    /// the error then names an object of the chain's source.
    ///
    /// - Parameter id: the original object, `Entity/p<key>`.
    package mutating func nameSource(_ id: String) {
        guard let near = context.sourceObjectID, near != id else { return }
        context.sourceObjectID = id
        // If the message names a source object, the context's object belongs to the destination, even if their names are equal.
        if let range = message.firstRange(of: "source object \(near)") {
            message.replaceSubrange(range, with: "source object \(id)")
        } else if context.objectID == near {
            context.objectID = id
            if let mark = near.firstRange(of: "/p"), context.entity == String(near[..<mark.lowerBound]),
                let end = id.firstRange(of: "/p")
            {
                context.entity = String(id[..<end.lowerBound])
            }
        } else {
            message += " (source object \(id))"
        }
    }
}

extension MigrationError {
    /// The words of any error for people: an `NSError`'s and a `LocalizedError`'s own description and reason, without a full
    /// stop at the end.
    package static func words(_ error: any Error) -> String {
        let (texts, _) = parts(error)
        return texts.isEmpty ? "\(error)" : texts.joined(separator: ". ")
    }

    /// Returns the advice for the user that an error carries; nil if it carries none.
    package static func suggestion(_ error: any Error) -> String? { parts(error).suggestion }

    private static func parts(_ error: any Error) -> (texts: [String], suggestion: String?) {
        var (texts, suggestion): ([String?], String?) = ([], nil)
        if error is MigrationError {
            return ([], nil)
        } else if type(of: error) is NSError.Type {
            let error = error as NSError
            texts = [error.localizedDescription, error.localizedFailureReason]
            suggestion = error.localizedRecoverySuggestion
        } else if let error = error as? any LocalizedError {
            texts = [error.errorDescription, error.failureReason]
            suggestion = error.recoverySuggestion
        }
        var found: [String] = []
        for case var text? in texts {
            if text.last == "." { text.removeLast() }
            if !text.isEmpty, !found.contains(text) { found.append(text) }
        }
        return (found, suggestion)
    }
}

extension MigrationError: CustomStringConvertible {
    /// The error on one line: place, message, details, cause and remedy.
    public var description: String {
        var text = ""
        if let path = context.path {
            text += path
            if let line = context.line {
                text += ":\(line)"
                if let column = context.column { text += ":\(column)" }
            }
            text += ": "
        }
        var message = message
        var details: [String] = []
        // The source object stands with the other details, in the same parentheses.
        if context.objectID != nil, message.last == ")", let start = message.ranges(of: " (source object ").last {
            details.append(String(message[start.lowerBound...].dropFirst(2).dropLast()))
            message = String(message[..<start.lowerBound])
        }
        text += message
        if let mapping = context.entityMapping { details.append("entity mapping \(mapping)") }
        if let entity = context.entity { details.append("entity \(entity)") }
        if let object = context.objectID { details.append("object \(object)") }
        if let property = context.property { details.append("property \(property)") }
        if let expression = context.expression { details.append("expression \(expression)") }
        if let policy = context.policy { details.append("policy \(policy)") }
        if !details.isEmpty { text += " (" + details.joined(separator: ", ") + ")" }
        if let cause { text += ": \(Self.words(cause))" }
        if let remedy { text += ". \(remedy)" }
        return text
    }
}
