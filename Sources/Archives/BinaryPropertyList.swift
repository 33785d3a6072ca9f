import Diagnostics

/// Reading and writing of binary property lists (`bplist00`), of which no offset, count or size is trusted.
package enum BinaryPropertyList {
    /// What a property list may cost.
    package struct Limits: Sendable {
        /// Bytes of the whole list.
        package var bytes: Int
        /// Values of the expanded tree, a shared value counted at each use.
        package var expandedValues: Int
        /// Levels of nesting.
        package var depth: Int

        package init(bytes: Int = 256 << 20, expandedValues: Int = 8 << 20, depth: Int = 256) {
            self.bytes = bytes
            self.expandedValues = expandedValues
            self.depth = depth
        }
    }

    /// Reads a property list.
    ///
    /// An object is decoded once, however often it is referred to, and the contents of all objects together may
    /// not be larger than the file, so that overlapping objects cannot multiply it. What remains is bounded by
    /// about 50 bytes of memory per byte of the file.
    ///
    /// - Parameter bytes: the whole list.
    /// - Throws: `archive.format` (damage), `archive.cycle`, `archive.limit` (size, nesting, bombs of shared
    ///   containers).
    /// - Complexity: O(bytes).
    package static func decode(
        _ bytes: [UInt8], limits: Limits = Limits()
    ) throws(MigrationError) -> PropertyListValue {
        var reader = try BinaryPropertyListReader(bytes, limits: limits)
        return try reader.decodeTop()
    }

    /// Writes a property list. Equal leaves are written once; equal values give equal bytes.
    ///
    /// - Throws: `archive.limit` where the value is nested too deeply or has too many parts.
    /// - Complexity: O(size of the value), dictionaries sorted by key.
    package static func encode(
        _ value: PropertyListValue, limits: Limits = Limits()
    ) throws(MigrationError) -> [UInt8] {
        var writer = BinaryPropertyListWriter(limits: limits)
        return try writer.encode(value)
    }
}
