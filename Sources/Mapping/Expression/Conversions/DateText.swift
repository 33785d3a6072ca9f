import Foundation
import Synchronization

/// Dates as text, in seconds since 2001.
package enum DateText {
    enum Unit { case day, month }

    // MARK: ISO 8601

    /// Returns the date of a text of ISO 8601: `2026-11-29`, with a time after T or a space, a fraction of the second, and Z or an
    /// offset. Without one of these the time is UTC. Nil for any other text.
    static func seconds(of text: String) -> Double? {
        var rest = Substring(text).utf8
        func digits(_ count: Int) -> Int? {
            guard rest.count >= count else { return nil }
            var number = 0
            for byte in rest.prefix(count) {
                guard (0x30...0x39).contains(byte) else { return nil }
                number = number * 10 + Int(byte - 0x30)
            }
            rest = rest.dropFirst(count)
            return number
        }
        func skip(_ characters: String) -> Bool {
            guard let first = rest.first, characters.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        guard let year = digits(4), skip("-"), let month = digits(2), skip("-"), let day = digits(2),
            (1...12).contains(month), day >= 1, day <= days(in: month, year)
        else { return nil }
        var seconds = Double(self.days(toYear: year, month, day)) * 86_400
        guard skip("T ") else { return rest.isEmpty ? seconds : nil }
        guard let hour = digits(2), skip(":"), let minute = digits(2), hour < 24, minute < 60 else { return nil }
        seconds += Double(hour * 3600 + minute * 60)
        if skip(":") {
            guard let second = digits(2), second < 60 else { return nil }
            seconds += Double(second)
            if skip(".,") {
                let fraction = rest.prefix { (0x30...0x39).contains($0) }
                guard !fraction.isEmpty, let value = Double("0." + String(Substring(fraction))) else { return nil }
                rest = rest.dropFirst(fraction.count)
                seconds += value
            }
        }
        if skip("Z") || rest.isEmpty { return rest.isEmpty ? seconds : nil }
        let isBehind = rest.first == UInt8(ascii: "-")
        guard skip("+-"), let hours = digits(2), hours < 24 else { return nil }
        var offset = hours * 3600
        if !rest.isEmpty {
            _ = skip(":")
            guard let minutes = digits(2), minutes < 60 else { return nil }
            offset += minutes * 60
        }
        guard rest.isEmpty else { return nil }
        return seconds - Double(isBehind ? -offset : offset)
    }

    /// Returns a date as text of ISO 8601 in UTC, with a fraction of at most six digits if it has one: a Double of our years tells
    /// microseconds apart, and no more. A date outside the years 5 to 9922 has no such form, and is its seconds since 2001.
    package static func text(of seconds: Double) -> String {
        guard seconds > -63_000_000_000, seconds < 250_000_000_000 else { return FloatingText.text(seconds) }
        var whole = seconds.rounded(.down)
        var micros = ((seconds - whole) * 1e6).rounded()
        if micros >= 1e6 { (whole, micros) = (whole + 1, 0) }
        var text: [UInt8] = []
        text.reserveCapacity(27)
        if whole >= gregorianSince {
            append(Int(whole), to: &text)
        } else {
            text += Date(timeIntervalSinceReferenceDate: whole).ISO8601Format().utf8.dropLast()
        }
        if micros > 0 {
            text.append(UInt8(ascii: "."))
            append(Int(micros), digits: 6, to: &text)
            while text.last == UInt8(ascii: "0") { text.removeLast() }
        }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// 1583-01-01, after which all calendars of Foundation are Gregorian.
    private static let gregorianSince = Double(days(toYear: 1583, 1, 1)) * 86_400

    /// Appends date and time of a second of the Gregorian calendar.
    private static func append(_ second: Int, to text: inout [UInt8]) {
        let day = (second - (second < 0 ? 86_399 : 0)) / 86_400
        let date = date(ofDay: day)
        let ofDay = second - day * 86_400
        let parts = [
            (date.year, 4, "-"), (date.month, 2, "-"), (date.day, 2, "T"), (ofDay / 3600, 2, ":"),
            (ofDay / 60 % 60, 2, ":"), (ofDay % 60, 2, ""),
        ]
        for (number, digits, separator) in parts {
            append(number, digits: digits, to: &text)
            text += separator.utf8
        }
    }

    private static func append(_ number: Int, digits: Int, to text: inout [UInt8]) {
        var power = 1
        for _ in 1..<digits { power *= 10 }
        while power > 0 {
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / power % 10))
            power /= 10
        }
    }

    private static func days(in month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Returns the number of days from 2001-01-01, in the Gregorian calendar.
    private static func days(toYear year: Int, _ month: Int, _ day: Int) -> Int {
        // Years begin in March here, so that the leap day is the last one.
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let ofEra = shifted - era * 400
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 730_791
    }

    /// Returns the date of a number of days from 2001-01-01: ``days(toYear:_:_:)`` the other way.
    private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 730_791
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let ofEra = shifted - era * 146_097
        let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        let isNext = month >= 10
        return (year + era * 400 + (isNext ? 1 : 0), isNext ? month - 9 : month + 3, ofYear - (153 * month + 2) / 5 + 1)
    }

    // MARK: Formats

    /// A date format of Unicode TR 35 with a time zone, in the locale en_US_POSIX.
    ///
    /// Memory: the formatters of at most 64 formats and zones.
    struct Format {
        private struct Key: Hashable {
            let format: String
            let zone: String
        }
        // A formatter takes a quarter of a millisecond to make. It is used by one thread at a time.
        private static let formatters = Mutex<[Key: DateFormatter]>([:])
        private let key: Key

        /// - Throws: `expression.type` if there is no such time zone.
        init(_ format: String, timeZone: String) throws(ProgramFault) {
            _ = try DateText.zone(timeZone)
            key = Key(format: format, zone: timeZone)
        }

        func seconds(of text: String) -> Double? {
            withFormatter { $0.date(from: text)?.timeIntervalSinceReferenceDate }
        }

        func text(of seconds: Double) -> String {
            withFormatter { $0.string(from: Date(timeIntervalSinceReferenceDate: seconds)) }
        }

        private func withFormatter<Value: Sendable>(_ body: (DateFormatter) -> Value) -> Value {
            Self.formatters.withLock { known in
                if let formatter = known[key] { return body(formatter) }
                let formatter = DateFormatter()
                formatter.locale = Locale(identifier: "en_US_POSIX")
                formatter.calendar = Calendar(identifier: .gregorian)
                formatter.timeZone = TimeZone(identifier: key.zone)
                formatter.dateFormat = key.format
                formatter.isLenient = false
                // A format may come from the row.
                if known.count == 64 { known.removeAll() }
                known[key] = formatter
                return body(formatter)
            }
        }
    }

    /// Returns the beginning of the day or the month of a date in a time zone.
    ///
    /// - Throws: `expression.type` if there is no such time zone.
    static func begin(of unit: Unit, _ seconds: Double, timeZone: String) throws(ProgramFault) -> Double {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try zone(timeZone)
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        let found =
            switch unit {
            case .day: calendar.startOfDay(for: date)
            case .month: calendar.date(from: calendar.dateComponents([.era, .year, .month], from: date)) ?? date
            }
        return found.timeIntervalSinceReferenceDate
    }

    private static func zone(_ name: String) throws(ProgramFault) -> TimeZone {
        guard let zone = TimeZone(identifier: name) else {
            throw .type("there is no time zone '\(name)'", remedy: "Write 'UTC', or a name as 'Europe/Berlin'")
        }
        return zone
    }
}
