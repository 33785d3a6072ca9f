import Diagnostics
import Rows

/// A huge value with the marker byte of inline external storage added or removed.
package final class MarkedValue: HugeValueSource {
    private let inner: HugeValue
    private let adds: Bool

    private init(_ inner: HugeValue, adds: Bool) {
        self.inner = inner
        self.adds = adds
    }

    /// Returns the value with the marker byte 1 before it.
    package static func marked(_ value: HugeValue) -> HugeValue {
        HugeValue(source: MarkedValue(value, adds: true), key: value.key, count: value.count + 1, isText: false)
    }

    /// Returns the value without its first byte. That byte is the marker 1, because a reference is never huge.
    package static func unmarked(_ value: HugeValue) -> HugeValue {
        HugeValue(source: MarkedValue(value, adds: false), key: value.key, count: value.count - 1, isText: false)
    }

    package func read(
        _ value: HugeValue, _ body: (UnsafeRawBufferPointer) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        var isFirst = true
        try inner.source.read(inner) { part throws(MigrationError) in
            defer { isFirst = false }
            guard isFirst else { return try body(part) }
            guard !adds else {
                let whole = UnsafeMutableRawBufferPointer.allocate(byteCount: part.count + 1, alignment: 16)
                defer { whole.deallocate() }
                whole[0] = ExternalReference.inlineMarker
                UnsafeMutableRawBufferPointer(rebasing: whole[1...]).copyMemory(from: part)
                return try body(UnsafeRawBufferPointer(whole))
            }
            guard part.first == ExternalReference.inlineMarker else {
                throw MigrationError(
                    "external.marker", .data, "A value of external storage does not begin with its marker byte")
            }
            try body(UnsafeRawBufferPointer(rebasing: part[1...]))
        }
    }

    package func refusal(_ value: HugeValue, for use: String) -> MigrationError {
        inner.source.refusal(inner, for: use)
    }
}
