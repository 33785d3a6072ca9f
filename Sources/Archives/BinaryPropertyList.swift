import Diagnostics

/// Reads and writes binary property lists (`bplist00`). No offset, count or size in them is trusted.
package enum BinaryPropertyList {
    /// The limits of a property list.
    package struct Limits: Sendable {
        /// The size of the whole list in bytes.
        package var bytes: Int
        /// The number of values in the expanded tree, where a shared value counts at each use. It also limits the number of
        /// objects, and of the members of all collections together.
        package var expandedValues: Int
        /// The number of levels of nesting.
        package var depth: Int

        package init(bytes: Int = 256 << 20, expandedValues: Int = 8 << 20, depth: Int = 256) {
            self.bytes = bytes
            self.expandedValues = expandedValues
            self.depth = depth
        }
    }

    /// Reads a property list.
    ///
    /// An object is decoded once, however many references it has. The contents of all objects together must not be larger than
    /// the file, so overlapping objects cannot multiply it.
    ///
    /// Memory: the file's contents and about 100 bytes for each object and member, of which there are at most
    /// `limits.expandedValues`.
    ///
    /// - Parameter bytes: the whole list.
    /// - Throws: `archive.format` (damage), `archive.cycle`, `archive.limit` (size, nesting, too many uses of shared
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
    /// - Throws: `archive.limit` if the value is nested too deeply or has too many parts.
    /// - Complexity: O(size of the value), and the sorting of dictionaries by key.
    package static func encode(
        _ value: PropertyListValue, limits: Limits = Limits()
    ) throws(MigrationError) -> [UInt8] {
        var writer = BinaryPropertyListWriter(limits: limits)
        _ = writer.number(of: value, depth: 1)
        return try writer.encoded()
    }
}
