import Diagnostics
import Stagecoach

/// Numbers in words, the same in every locale.
enum Figures {
    /// `1,234,567`.
    static func count(_ value: Int) -> String { value.grouped }

    /// `1,234,567 objects`, `1 object`.
    static func count(_ value: Int, _ noun: String) -> String { value.counted(noun) }

    /// `64.0 MiB`; two decimals below 10.
    static func size(_ bytes: Int) -> String {
        let mebibytes = Double(bytes) / 1_048_576
        return decimal(mebibytes, places: mebibytes < 10 ? 2 : 1) + " MiB"
    }

    /// `0.42 s`, `12.3 s`, `2 min 5 s`, `3 h 12 min`.
    static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 1e9 else { return "?" }
        if seconds < 60 { return decimal(seconds, places: seconds < 10 ? 2 : 1) + " s" }
        let whole = Int(seconds.rounded())
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(count(whole / 3600)) h \(whole % 3600 / 60) min"
    }

    /// Returns a number with a fixed number of decimals and a point.
    static func decimal(_ value: Double, places: Int) -> String {
        let factor = (0..<places).reduce(1) { product, _ in product * 10 }
        let scaled = (abs(value) * Double(factor)).rounded()
        guard scaled.isFinite, scaled < 9e18 else { return "?" }
        let number = Int(scaled)
        let sign = value < 0 && number > 0 ? "-" : ""
        guard places > 0 else { return sign + count(number) }
        let fraction = String(number % factor)
        return sign + count(number / factor) + "." + String(repeating: "0", count: places - fraction.count) + fraction
    }
}
