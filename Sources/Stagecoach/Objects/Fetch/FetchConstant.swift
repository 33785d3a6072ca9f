import Foundation
import Mapping

/// A constant in the predicate of a fetch.
enum FetchConstant {
    case null
    case object(ManagedObjectID)
    /// A value that ``ValueBridge`` can store.
    case scalar(Any)
    case list([FetchConstant])

    /// Reads a constant; nil if the node is not one.
    init?(_ node: ExpressionNode) {
        switch node {
        case .constant(let constant): self.init(constant)
        case .aggregate(let members):
            var list: [FetchConstant] = []
            for member in members {
                guard let constant = FetchConstant(member) else { return nil }
                list.append(constant)
            }
            self = .list(list)
        case .opaque(let opaque):
            guard case .value(let value) = opaque.content else { return nil }
            self.init(value: value)
        default: return nil
        }
    }

    /// Returns the node with its collections of plain values written out, so that it can be compiled.
    static func literal(_ node: ExpressionNode) -> ExpressionNode {
        guard case .opaque = node, case .list(let members)? = FetchConstant(node) else { return node }
        var nodes: [ExpressionNode] = []
        for member in members {
            switch member {
            case .null: nodes.append(.constant(.null))
            case .scalar(let value):
                guard let constant = ExpressionConstant(value) else { return node }
                nodes.append(.constant(constant))
            case .object, .list: return node
            }
        }
        return .aggregate(nodes)
    }

    private init(_ constant: ExpressionConstant) {
        switch constant {
        case .null: self = .null
        case .boolean(let flag): self = .scalar(flag)
        case .integer(let number): self = .scalar(number)
        case .double(let number): self = .scalar(number)
        case .decimal(let number): self = .scalar(number)
        case .string(let text): self = .scalar(text)
        case .date(let seconds): self = .scalar(Date(timeIntervalSinceReferenceDate: seconds))
        case .data(let data): self = .scalar(data)
        }
    }

    /// Converts the value of an argument.
    init(value: Any?) {
        switch ValueBridge.unwrapped(value) {
        case nil: self = .null
        case let object as ManagedObject: self = .object(object.objectID)
        case let id as ManagedObjectID: self = .object(id)
        case let text as String: self = .scalar(text)
        case let set as NSSet: self = .list(set.allObjects.map { FetchConstant(value: $0) })
        case let set as NSOrderedSet: self = .list(set.array.map { FetchConstant(value: $0) })
        case let array as [Any?]: self = .list(array.map { FetchConstant(value: $0) })
        case let array as NSArray: self = .list(array.map { FetchConstant(value: $0) })
        case let value?: self = .scalar(value)
        }
    }
}
