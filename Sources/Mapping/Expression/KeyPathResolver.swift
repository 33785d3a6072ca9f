import Diagnostics
import ManagedModel

/// Gives the slot of a row batch that holds a value of the source object.
///
/// Inside the member part of a collection value there are several objects. The member, whose row is read, has level 0, and each
/// enclosing object has one level more. ``scope`` names them.
package protocol KeyPathResolver {
    /// The variables that name the objects, without the dollar sign, by level; `["source"]` outside of collections.
    var scope: [String] { get }

    /// Returns the slot and type of `a.b` of the object of a level. The path leads over to-one relationships to an attribute,
    /// or to a to-one relationship itself, whose type is `.objectID` and whose cell is a key or null. Without components it is
    /// the object.
    ///
    /// - Throws: an error of category configuration if the path names nothing or crosses a to-many relationship.
    mutating func slot(
        forKeyPath: [String], level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType)

    /// Returns the slot and type of a value folded over a to-many relationship of the object of a level.
    ///
    /// - Throws: an error of category configuration if a name is unknown or a type does not fit.
    mutating func slot(
        for: CollectionFold, level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType)

    /// Returns the number of components of a path up to and including its last to-many relationship; nil if none is to-many or
    /// a component is unknown.
    func collectionLength(of path: [String], level: Int) -> Int?

    /// The key paths of the attributes of a composite that a path ends at; nil if it ends at something else.
    func elementPaths(ofCompositeAt path: [String], level: Int) -> [[String]]?
}

extension KeyPathResolver {
    package var scope: [String] { ["source"] }

    package mutating func slot(
        for fold: CollectionFold, level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        throw .unsupportedExpression("collections cannot be read here")
    }

    package func collectionLength(of path: [String], level: Int) -> Int? { nil }

    package func elementPaths(ofCompositeAt path: [String], level: Int) -> [[String]]? { nil }
}
