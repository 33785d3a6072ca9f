/// A sum that tells byte sequences apart, made here because this module is compiled with optimisation and test targets are not.
package enum ByteSum {
    /// The sum of bytes that come behind those of an earlier sum.
    ///
    /// - Complexity: O(bytes), about a nanosecond for each.
    package static func of(_ bytes: Slice<UnsafeRawBufferPointer>, after sum: UInt64) -> UInt64 {
        bytes.reduce(sum) { ($0 ^ UInt64($1)) &* 0x9E37_79B9_7F4A_7C15 }
    }
}
