import Foundation

/// Converts floating-point numbers to text, as NSNumber prints them.
enum FloatingText {
    /// Returns the shortest text that reads back as the number. A whole number has no point.
    static func text(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : number.description
    }

    /// Returns the text of a Float, NSNumber's `%0.7g`: 0.1 for the float nearest to a tenth, 1.677722e+07 for 16777216.
    static func text(_ number: Float) -> String {
        guard number.isFinite else { return text(Double(number)) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
            guard let start = buffer.baseAddress else { return number.description }
            let count = withVaList([Double(number)]) { Int(vsnprintf(start, buffer.count, "%0.7g", $0)) }
            guard count > 0, count < buffer.count else { return number.description }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
    }
}
