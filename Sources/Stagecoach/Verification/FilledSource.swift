import CoreDataStore
import Foundation
import ManagedModel
import Mapping

/// A source object whose nil values are those of others, which were merged into it: that of a mapping with `fill`. A key path is
/// read from each in turn, and the first value counts. Key paths through to-many relationships are those of the object itself.
///
/// Memory: the keys of one group.
final class FilledSource: NSObject, ExpressionObject {
    /// The objects whose values are read, the kept source object's first. After a to-one step of a key path they are the objects
    /// that the step leads to; nil for an object whose relationship is nil.
    private var members: [EvaluatedSource?]

    init(_ members: [EvaluatedSource?]) { self.members = members }

    /// Shows other source objects of the same table.
    func show(_ keys: [Int64]) {
        guard let first = members.first ?? nil else { return }
        while members.count < keys.count { members.append(first.another) }
        members.removeLast(members.count - keys.count)
        for (member, key) in zip(members, keys) { member?.key = key }
    }

    /// The keys of the objects that are there.
    var keys: [Int64] { members.compactMap { $0?.key } }

    /// The table of the objects.
    var table: Int? { first?.table }

    /// The first of the objects that is there.
    var first: EvaluatedSource? { members.lazy.compactMap(\.self).first }

    func expressionValue(forKey key: String) throws -> Any? {
        guard let entity = first?.entity else { return nil }
        if let relationship = entity.relationship(named: key) {
            guard !relationship.isToMany else {
                return try members[0].flatMap { try $0.exists ? $0.expressionValue(forKey: key) : nil }
            }
            // A reference to a row that does not exist is not nil.
            let ends = try members.map { try $0?.end(of: relationship) }
            return ends.contains { $0 != nil } ? FilledSource(ends) : nil
        }
        if let composite = entity.composite(named: key) {
            return try CompositeValue.dictionary(of: composite, in: entity) { element in
                try TransformableValue.object(of: value(element))
            }
        }
        return try value(key)
    }

    private func value(_ key: String) throws -> Any? {
        for member in members {
            if let value = try member?.expressionValue(forKey: key) { return value }
        }
        return nil
    }

    var expressionEntityName: String? { first?.expressionEntityName }
    var expressionEntity: EntityDescription? { first?.entity }
}
