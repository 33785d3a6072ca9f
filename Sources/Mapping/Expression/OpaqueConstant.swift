import Diagnostics
import Foundation

/// A part of a syntax tree that has no text form: an object, a closure, or a text that could not be parsed.
///
/// Two are equal if they are the same instance or hold the same object. An instance is immutable; its owner decides if its
/// content may be used on several threads, as in Foundation.
package final class OpaqueConstant: @unchecked Sendable, Hashable {
    package typealias ExpressionBlock = (Any?, [ValueExpression], NSMutableDictionary?) -> Any?
    package typealias PredicateBlock = (Any?, [String: Any]?) -> Bool

    package enum Content {
        /// A value that has no literal form: an object, a collection, a UUID, a URL.
        case value(Any)
        case expressionBlock(ExpressionBlock, [ValueExpression])
        case predicateBlock(PredicateBlock)
        /// A format that could not be parsed. Using it throws the error.
        case failure(MigrationError, text: String)
    }

    package let content: Content

    package init(_ content: Content) { self.content = content }

    /// The error of a format that could not be parsed; nil for any other content.
    package var failure: MigrationError? {
        if case .failure(let error, _) = content { error } else { nil }
    }

    private var object: AnyObject? {
        guard case .value(let value) = content, type(of: value) is AnyClass else { return nil }
        return value as AnyObject
    }

    package static func == (left: OpaqueConstant, right: OpaqueConstant) -> Bool {
        if left === right { return true }
        guard let one = left.object, let other = right.object else { return false }
        return one === other
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(object ?? self)) }

    /// Returns a readable form, which the parser may be unable to read back.
    func format(_ style: PrintStyle) -> String {
        func quoted(_ text: String) -> String { ExpressionConstant.quoted(text, style.quote) }
        switch content {
        case .value(let value):
            if let members = (value as? NSSet)?.allObjects ?? (value as? NSOrderedSet)?.array ?? (value as? [Any]) {
                return "{" + members.map { OpaqueConstant(.value($0)).format(style) }.joined(separator: ", ") + "}"
            }
            if let constant = ExpressionConstant(value) { return constant.format(style) }
            switch value {
            case let uuid as UUID: return "CAST(\(quoted(uuid.uuidString)), \(quoted("NSUUID")))"
            case let url as URL: return "CAST(\(quoted(url.absoluteString)), \(quoted("NSURL")))"
            default: return String(describing: value)
            }
        case .expressionBlock(_, let arguments):
            return "BLOCK(" + arguments.map(\.format).joined(separator: ", ") + ")"
        case .predicateBlock: return "BLOCKPREDICATE"
        case .failure(_, let text): return text
        }
    }
}

extension ExpressionConstant {
    /// Makes the constant for a value of a policy; nil for objects, collections, UUIDs and URLs.
    package init?(_ value: Any?) { self.init(evaluated: EvaluatedValue(value)) }

    /// Makes the constant for what evaluations take a value for.
    fileprivate init?(evaluated value: EvaluatedValue) {
        switch value {
        case .null: self = .null
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .float(let number): self = .double(Double(number))
        case .real(let number): self = .double(number)
        case .decimal(let number): self = .decimal(number)
        case .text(let text): self = .string(text)
        case .date(let seconds): self = .date(seconds)
        case .data(let data): self = .data(data)
        default: return nil
        }
    }
}

extension ExpressionNode {
    /// Returns the constant node for a value of a policy.
    package static func value(_ value: Any?) -> ExpressionNode { .value(value, EvaluatedValue(value)) }

    /// Returns the constant node for a value of a policy and what evaluations take it for.
    static func value(_ value: Any?, _ evaluated: EvaluatedValue) -> ExpressionNode {
        guard let value else { return .constant(.null) }
        return ExpressionConstant(evaluated: evaluated).map(ExpressionNode.constant)
            ?? .opaque(OpaqueConstant(.value(value)))
    }

    /// Returns the node of an argument: an expression itself, and the constant of any other value.
    static func argument(_ value: Any) -> ExpressionNode { (value as? ValueExpression)?.node ?? .value(value) }
}
