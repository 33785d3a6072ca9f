import Diagnostics
import Rows

/// A huge value with the marker byte of inline external storage put before it, or taken away.
package final class MarkedValue: HugeValueSource {
    private let inner: HugeValue
    private let adds: Bool

    private init(_ inner: HugeValue, adds: Bool) {
        self.inner = inner
        self.adds = adds
    }

    /// The value behind the marker byte 1.
    package static func marked(_ value: HugeValue) -> HugeValue {
        HugeValue(source: MarkedValue(value, adds: true), key: value.key, count: value.count + 1, isText: false)
    }

    /// The value without its first byte, which is the marker 1: no reference is huge.
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
