import Diagnostics
import ManagedModel

/// Gives the slot of a row batch in which a value of the source object stands.
///
/// Inside the member part of a collection value there are several objects: the member, whose row it is, has level 0,
/// and each object around it one level more. ``scope`` names them.
package protocol KeyPathResolver {
    /// The variables that stand for the objects, without the dollar sign, by level; `["source"]` outside of collections.
    var scope: [String] { get }

    /// The slot and type of `$source.a.b`: an attribute, reached over to-one relationships; or a to-one relationship
    /// itself, whose type is `.objectID` and whose cell is a key or null; or, with no component, the object.
    ///
    /// - Throws: an error of category configuration where the path names nothing, or goes over a to-many.
    mutating func slot(forKeyPath: [String]) throws(MigrationError) -> (slot: Int, type: AttributeType)

    /// The same for an object around the row's own.
    mutating func slot(
        forKeyPath: [String], level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType)

    /// The slot and type of a value that is folded over a to-many of the object of a level.
    ///
    /// - Throws: an error of category configuration where a name is unknown or a type does not fit.
    mutating func slot(
        for: CollectionFold, level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType)

    /// How many components of a path lead through its last to-many relationship; nil where none is to-many, or a
    /// component is unknown.
    func collectionLength(of path: [String], level: Int) -> Int?

    /// The key paths of the attributes of a composite that a path ends at; nil where it ends at something else.
    func elementPaths(ofCompositeAt path: [String], level: Int) -> [[String]]?
}

extension KeyPathResolver {
    package var scope: [String] { ["source"] }

    package mutating func slot(
        forKeyPath path: [String], level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        guard level == 0 else {
            throw MigrationError("expression.unsupported", .configuration, "there is no object around the row's")
        }
        return try slot(forKeyPath: path)
    }

    package mutating func slot(
        for fold: CollectionFold, level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        throw MigrationError("expression.unsupported", .configuration, "collections cannot be read here")
    }

    package func collectionLength(of path: [String], level: Int) -> Int? { nil }

    package func elementPaths(ofCompositeAt path: [String], level: Int) -> [[String]]? { nil }
}
