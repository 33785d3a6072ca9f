import Diagnostics
import SpillStorage

extension StateCoder {
    /// Writes or reads fields of a value, in the order given.
    mutating func code<Root, each Field: StateCodable>(
        _ value: inout Root, _ fields: repeat WritableKeyPath<Root, each Field>
    ) throws(MigrationError) {
        for field in repeat each fields { try code(&value[keyPath: field]) }
    }
}
