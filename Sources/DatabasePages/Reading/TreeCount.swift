import Diagnostics

/// Counts the entries of a tree from the headers of its pages.
package enum TreeCount {
    /// The number of rows of a table.
    ///
    /// - Complexity: O(pages of the tree); 64 KiB of leaves and a page for each level.
    package static func rows(ofTable root: UInt32, in file: PageFile) throws(MigrationError) -> Int64 {
        try count(root, .tableInterior, .tableLeaf, in: file)
    }

    /// The number of entries of an index, including those in interior pages.
    ///
    /// - Complexity: like ``rows(ofTable:in:)``.
    package static func entries(ofIndex root: UInt32, in file: PageFile) throws(MigrationError) -> Int64 {
        try count(root, .indexInterior, .indexLeaf, in: file)
    }

    private static func count(
        _ root: UInt32, _ interior: PageKind, _ leaf: PageKind, in file: PageFile
    ) throws(MigrationError) -> Int64 {
        let way = TreeDescent(file: file, root: root, interior: interior, leaf: leaf)
        if let leaf = try way.begin() { return Int64(leaf.count) }
        var count: Int64 = 0
        var visited: UInt32 = 0
        while let (level, index) = way.nextChild() {
            if index == 0, interior == .indexInterior { count += Int64(level.count) }
            visited += 1
            guard visited <= file.pageCount else { throw file.damaged(root, "its tree has more pages than the file") }
            if let leaf = try way.descend(to: index) { count += Int64(leaf.count) }
        }
        return count
    }
}
