import Diagnostics
import SpillStorage

extension PageTree {
    /// The most levels of a tree that SQLite allows.
    private static let deepest = 20

    /// Writes the state of the open page of each level.
    final func savePages(to state: inout StateWriter) {
        state.write(root)
        leaf.save(to: &state)
        state.write(levels.count)
        for level in levels { level.image.save(to: &state) }
    }

    /// Restores the open pages.
    final func restorePages(from state: inout StateReader) throws(MigrationError) {
        guard try state.page() == root else { throw StateReader.damaged("another tree") }
        try leaf.restore(from: &state)
        levels = []
        for _ in 0..<(try state.count(upTo: Self.deepest)) {
            let level = Level(interior)
            try level.image.restore(from: &state)
            levels.append(level)
        }
        guard leaf.count > 0 || levels.isEmpty, levels.allSatisfy({ $0.image.count > 0 }) else {
            throw StateReader.damaged("a tree with an empty page")
        }
    }
}

extension TableTree {
    /// Writes the state of the tree.
    func save(to state: inout StateWriter) {
        state.write(lastKey)
        savePages(to: &state)
    }

    /// Restores a saved tree.
    func restore(from state: inout StateReader) throws(MigrationError) {
        lastKey = try state.optionalInteger()
        try restorePages(from: &state)
        guard lastKey != nil || leaf.count == 0 else {
            throw StateReader.damaged("a tree without its last key")
        }
    }
}
