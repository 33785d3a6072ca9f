import Diagnostics

/// Counts the entries of a tree from the headers of its pages.
package enum TreeCount {
    /// The number of rows of a table, or of entries of an index, including those in interior pages.
    ///
    /// - Complexity: O(pages of the tree); 64 KiB of leaves and a page for each level.
    package static func entries(ofTree root: UInt32, isIndex: Bool, in file: PageFile) throws(MigrationError) -> Int64 {
        let way = TreeDescent(
            file: file, root: root, interior: isIndex ? .indexInterior : .tableInterior,
            leaf: isIndex ? .indexLeaf : .tableLeaf)
        if let leaf = try way.begin() { return Int64(leaf.count) }
        var count: Int64 = 0
        var visited: UInt32 = 0
        while let (level, index) = way.nextChild() {
            if index == 0, isIndex { count += Int64(level.count) }
            visited += 1
            guard visited <= file.pageCount else { throw file.damaged(root, "its tree has more pages than the file") }
            if let leaf = try way.descend(to: index) { count += Int64(leaf.count) }
        }
        return count
    }
}
