import Diagnostics
import SpillStorage

/// The most levels of a tree that SQLite allows.
private let deepestTree = 20

extension TableTree {
    /// Writes the state of the open page of each level.
    func save(to state: inout StateWriter) {
        state.write(root)
        state.write(lastKey)
        leaf.save(to: &state)
        state.write(levels.count)
        for level in levels {
            level.image.save(to: &state)
            state.write(level.lastKey)
            state.write(level.right?.page ?? 0)
            state.write(level.right?.key ?? 0)
        }
    }

    /// Restores the open pages.
    func restore(from state: inout StateReader) throws(MigrationError) {
        guard try state.page() == root else { throw StateReader.damaged("another table's tree") }
        lastKey = try state.optionalInteger()
        try leaf.restore(from: &state)
        levels = []
        for _ in 0..<(try state.count(upTo: deepestTree)) {
            let level = Level()
            try level.image.restore(from: &state)
            level.lastKey = try state.integer()
            let (page, key) = (try state.page(), try state.integer())
            level.right = page == 0 ? nil : (page, key)
            levels.append(level)
        }
        guard lastKey != nil || (leaf.count == 0 && levels.isEmpty), levels.allSatisfy({ $0.right != nil }) else {
            throw StateReader.damaged("a tree without its last key")
        }
    }
}

extension IndexTree {
    /// Writes the state of the open page of each level.
    func save(to state: inout StateWriter) {
        state.write(root)
        leaf.save(to: &state)
        state.write(levels.count)
        for level in levels {
            level.image.save(to: &state)
            state.write(level.right)
        }
    }

    /// Restores the open pages.
    func restore(from state: inout StateReader) throws(MigrationError) {
        guard try state.page() == root else { throw StateReader.damaged("another index's tree") }
        try leaf.restore(from: &state)
        levels = []
        for _ in 0..<(try state.count(upTo: deepestTree)) {
            let level = Level()
            try level.image.restore(from: &state)
            level.right = try state.page()
            levels.append(level)
        }
    }
}
