import Diagnostics
import ManagedModel

/// Gives the slot of a row batch in which the value of a source key path stands.
package protocol KeyPathResolver {
    /// The slot and type of `$source.a.b`: an attribute, reached over to-one relationships; or a to-one relationship
    /// itself, whose type is `.objectID` and whose cell is a reference or null.
    ///
    /// - Parameter forKeyPath: at least one component.
    /// - Throws: an error of category configuration where the path names nothing, or goes over a to-many.
    mutating func slot(forKeyPath: [String]) throws(MigrationError) -> (slot: Int, type: AttributeType)
}
