import Testing

@testable import AtomicStores

@Suite("The format of a store by its first bytes")
struct StoreFormatTests {
    @Test(
        "Each type of store is known by its first bytes, and other files are none",
        arguments: [
            ("SQLite format 3\0", StoreFormat.sqlite), ("CoreData\0\0\0\u{1}", .binary),
            ("<?xml version=\"1.0\"?>\n<!DOCTYPE database SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\">", .xml),
            ("\u{FEFF}\n<database>", .xml), ("<?xml version=\"1.0\"?><plist>", nil), ("CoreData is a framework", nil),
            ("", nil),
        ] as [(String, StoreFormat?)])
    func prefixes(_ text: String, _ format: StoreFormat?) {
        #expect(StoreFormat.of(prefix: Array(text.utf8)) == format)
    }
}
