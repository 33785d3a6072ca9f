import Foundation

/// Swift files in the rooms of a module, and the types that they declare and name.
///
/// A list of declarations and a word search are enough: comments and the text of string literals are left out, and a word
/// counts as a use of the type of that name. Two types with one name in two rooms are therefore taken for one; they should
/// not exist.
package struct SourceRooms {
    /// A word that a file may not name, or may not extend.
    package struct Finding: Hashable, CustomStringConvertible {
        package enum Kind { case use, `extension` }

        package let kind: Kind
        package let file: String
        package let type: String
        /// The rooms of the file and of the type.
        package let rooms: [String]

        package init(kind: Kind, file: String, type: String, rooms: [String]) {
            self.kind = kind
            self.file = file
            self.type = type
            self.rooms = rooms
        }

        package var description: String {
            let verb = kind == .use ? "names" : "extends"
            return "\(file) in room \(rooms[0]) \(verb) \(type) of room \(rooms[1])"
        }
    }

    /// The names in one file.
    private struct Names {
        var declared: Set<String> = []
        /// Types that only the file itself sees; they hide others of their names.
        var hidden: Set<String> = []
        var extended: Set<String> = []
        var used: Set<String> = []
    }

    /// The room of the files that are in no folder.
    package static let screen = "the screen"

    private let order: [String]
    private var names: [String: Names] = [:]
    /// The file that declares each type.
    private var files: [String: String] = [:]

    /// The words of a Swift source that are no comment and no text of a string literal.
    package static func words(in text: String) -> [String] { SwiftWords(text).words }

    /// - Parameters:
    ///   - sources: the text of each file, by its path below the module's folder.
    ///   - order: the rooms; each may use those before it.
    package init(_ sources: [String: String], order: [String]) {
        self.order = order
        for (file, text) in sources {
            let found = SourceRooms.names(in: SwiftWords(text).words)
            names[file] = found
            for type in found.declared { files[type] = file }
        }
    }

    /// Reads the Swift files of a folder.
    package static func sources(in folder: URL) throws -> [String: String] {
        var sources: [String: String] = [:]
        let base = folder.standardizedFileURL.path + "/"
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let url = files?.nextObject() as? URL {
            guard url.pathExtension == "swift" else { continue }
            let path = url.standardizedFileURL.path
            sources[String(path.dropFirst(base.count))] = try String(contentsOf: url, encoding: .utf8)
        }
        return sources
    }

    /// The room of a file: its first folder.
    package static func room(of file: String) -> String {
        let parts = file.split(separator: "/")
        return parts.count > 1 ? String(parts[0]) : screen
    }

    /// The rooms that have files, but no place in the order.
    package var unknownRooms: Set<String> { Set(names.keys.map(SourceRooms.room(of:))).subtracting(order) }

    /// The uses of types of later rooms.
    package var upwardUses: Set<Finding> {
        var found: Set<Finding> = []
        forEachForeign(\.used) { file, type, rooms in
            guard let own = order.firstIndex(of: rooms[0]), let other = order.firstIndex(of: rooms[1]), other > own
            else { return }
            found.insert(Finding(kind: .use, file: file, type: type, rooms: rooms))
        }
        return found
    }

    /// The extensions of types of other rooms.
    package var foreignExtensions: Set<Finding> {
        var found: Set<Finding> = []
        forEachForeign(\.extended) { file, type, rooms in
            found.insert(Finding(kind: .extension, file: file, type: type, rooms: rooms))
        }
        return found
    }

    private func forEachForeign(_ words: KeyPath<Names, Set<String>>, _ body: (String, String, [String]) -> Void) {
        for (file, names) in names {
            for type in names[keyPath: words] where !names.declared.contains(type) && !names.hidden.contains(type) {
                guard let declaring = files[type] else { continue }
                let rooms = [SourceRooms.room(of: file), SourceRooms.room(of: declaring)]
                if rooms[0] != rooms[1] { body(file, type, rooms) }
            }
        }
    }

    private static let keywords: Set<String> = ["struct", "class", "enum", "protocol", "actor", "typealias"]

    /// Returns the types that a file declares and extends outside of other types, and all words that may name a type.
    private static func names(in words: [String]) -> Names {
        var names = Names()
        var depth = 0
        var isPrivate = false
        for (index, word) in words.enumerated() {
            switch word {
            case "{": depth += 1
            case "}":
                depth -= 1
                isPrivate = false
            case "private", "fileprivate": if depth == 0 { isPrivate = true }
            case "func", "let", "var": if depth == 0 { isPrivate = false }
            case "extension":
                if depth == 0, index + 1 < words.count { names.extended.insert(words[index + 1]) }
                isPrivate = false
            case _ where keywords.contains(word):
                // `import struct Foundation.Data` declares nothing.
                guard depth == 0, index + 1 < words.count, index == 0 || words[index - 1] != "import" else { break }
                if isPrivate { names.hidden.insert(words[index + 1]) } else { names.declared.insert(words[index + 1]) }
                isPrivate = false
            default:
                if let first = word.utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) {
                    names.used.insert(word)
                }
            }
        }
        return names
    }
}
