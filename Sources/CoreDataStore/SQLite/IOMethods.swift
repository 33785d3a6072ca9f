import CSQLite

/// A table of file functions at a fixed address. It is never changed and never freed.
struct IOMethods: @unchecked Sendable {
    let pointer: UnsafePointer<sqlite3_io_methods>

    init(_ methods: sqlite3_io_methods) {
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: methods)
        pointer = UnsafePointer(table)
    }
}
