import Diagnostics
import SpillStorage

extension PageTree {
    /// The most levels of a tree that SQLite allows.
    private static let deepest = 20

    /// Writes or reads the state of the open page of each level.
    final func codePages(with coder: inout StateCoder) throws(MigrationError) {
        var own = root
        try coder.code(&own)
        guard own == root else { throw StateReader.damaged("another tree") }
        try leaf.code(with: &coder)
        try coder.code(objects: &levels, upTo: Self.deepest) { coder, known throws(MigrationError) in
            let level = known ?? Level(interior)
            try level.image.code(with: &coder)
            return level
        }
        guard leaf.count > 0 || levels.isEmpty, levels.allSatisfy({ $0.image.count > 0 }) else {
            throw StateReader.damaged("a tree with an empty page")
        }
    }
}

extension TableTree {
    /// Writes or reads the state of the tree.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&lastKey)
        try codePages(with: &coder)
        guard lastKey != nil || leaf.count == 0 else { throw StateReader.damaged("a tree without its last key") }
    }
}
