import Diagnostics
import Glibc

/// The errors of reading and writing stores of the types XML and binary.
enum AtomicStoreError {
    /// An error of a system call on the file.
    static func system(_ done: String, _ number: Int32, _ path: String) -> MigrationError {
        if number == ENOENT || number == ENOTDIR {
            return MigrationError("store.notFound", .noInput, "There is no such file", context: .init(path: path))
        }
        let isDenied = number == EACCES || number == EPERM
        return MigrationError(
            isDenied ? "store.permission" : "store.io", isDenied ? .permission : .io,
            "The file cannot be \(done): \(String(cString: strerror(number)))",
            remedy: isDenied ? "Give yourself read permission" : nil, context: .init(path: path))
    }

    /// The error for an attribute type whose form in a file is known from no real store.
    static func unprovenType(
        _ attribute: String, _ type: String, _ entity: String, _ format: StoreFormat
    ) -> MigrationError {
        MigrationError(
            "store.unprovenType", .configuration,
            "The attribute \(attribute) is of type \(type), and how stores of type \(format.rawValue) keep such values is "
                + "not known",
            remedy: "Use a store of type SQLite: on a Mac, migratePersistentStore writes one",
            context: .init(entity: entity, property: attribute))
    }

    /// The error for a value above the memory that one may take.
    static func tooLarge(_ limit: Int, _ path: String?, _ context: MigrationError.Context = .init())
        -> MigrationError
    {
        MigrationError(
            "store.valueTooLarge", .data, "An object has values of more than \(limit.counted("byte"))",
            remedy: "Raise --memory-limit: an object may have a thirty-second of it",
            context: context.filled(from: .init(path: path)))
    }
}
