import Foundation
import Testing

@testable import StagecoachCommand

@Suite("The style of pages")
struct ReportStyleTests {
    /// The colours of the light and of the dark page, by name, as three parts from 0 to 1.
    private static func colors() throws -> [[String: [Double]]] {
        let pages = ReportStyle.css.matches(of: /:root\{([^}]*)\}/).map { page in
            page.1.matches(of: /--([a-z-]+):#([0-9a-f]+)/).map { (String($0.1), Array($0.2)) }
        }
        try #require(pages.count == 2)
        return pages.map { page in
            Dictionary(uniqueKeysWithValues: page).mapValues { digits in
                let digits = digits.count == 3 ? digits.flatMap { [$0, $0] } : digits
                return stride(from: 0, to: 6, by: 2).map {
                    Double(Int(String(digits[$0...($0 + 1)]), radix: 16) ?? 0) / 255
                }
            }
        }
    }

    /// The contrast of two colours, as WCAG 2.2 computes it.
    private static func contrast(_ first: [Double], _ second: [Double]) -> Double {
        func luminance(_ color: [Double]) -> Double {
            let parts = color.map { $0 <= 0.03928 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        }
        let (one, two) = (luminance(first), luminance(second))
        return (max(one, two) + 0.05) / (min(one, two) + 0.05)
    }

    @Test("No line stands there twice")
    func lines() {
        let lines = ReportStyle.css.split(separator: "\n")
        #expect(Set(lines).count == lines.count)
    }

    @Test("Texts have the contrast that WCAG asks for at level AA, light and dark; signs and bars have theirs")
    func contrasts() throws {
        let grounds = ["page", "card", "band"]
        var pairs = ["ink", "soft"].flatMap { text in grounds.map { (text, $0, 4.5) } }
        pairs += [("green", "green-soft", 4.5), ("red", "red-soft", 4.5), ("amber", "amber-soft", 4.5)]
        pairs += [("red", "card", 4.5), ("amber", "card", 4.5)]
        let signs = ["blue", "green", "violet", "teal", "gray", "orange", "amber", "red"]
        pairs += signs.flatMap { sign in ["card", "band"].map { (sign, $0, 3) } }
        for (page, colors) in zip(["light", "dark"], try Self.colors()) {
            for (text, ground, least) in pairs {
                let found = Self.contrast(try #require(colors[text]), try #require(colors[ground]))
                #expect(found >= least, "\(text) on \(ground), \(page): \(found)")
            }
        }
    }
}
