import Foundation

/// The differences that a comparison of text ignores: case, diacritics.
struct TextFolding: Sendable, Hashable {
    let ignoresCase: Bool
    let ignoresDiacritics: Bool

    /// Makes the folding of comparison options. `[n]` promises that the texts are normalised already; `[l]` asks for the user's
    /// locale, which a migration does not have. Both have no effect.
    init(_ options: ComparisonOptions) {
        ignoresCase = options.contains(.caseInsensitive)
        ignoresDiacritics = options.contains(.diacriticInsensitive)
    }

    var isExact: Bool { !ignoresCase && !ignoresDiacritics }

    /// Returns the bytes of a text without the ignored differences. Text beyond ASCII goes through Foundation.
    func folded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        if isExact { return Array(bytes) }
        if bytes.allSatisfy({ $0 < 0x80 }) { return ignoresCase ? bytes.map(Self.lowered) : Array(bytes) }
        var options: String.CompareOptions = []
        if ignoresCase { options.insert(.caseInsensitive) }
        if ignoresDiacritics { options.insert(.diacriticInsensitive) }
        return Array(String(decoding: bytes, as: UTF8.self).folding(options: options, locale: nil).utf8)
    }

    /// Returns the bytes of a text folded character by character, so that their number stays the same. Patterns count
    /// characters, and full folding turns some into two (ß becomes ss).
    func foldedByCharacter(_ bytes: some Collection<UInt8>) -> [UInt8] {
        if isExact || bytes.allSatisfy({ $0 < 0x80 }) { return folded(bytes) }
        var text = String(decoding: bytes, as: UTF8.self)
        if ignoresDiacritics { text = text.decomposedStringWithCanonicalMapping }
        var result = ""
        for scalar in text.unicodeScalars {
            if ignoresDiacritics, scalar.properties.generalCategory == .nonspacingMark { continue }
            let lower = scalar.properties.lowercaseMapping.unicodeScalars
            result.unicodeScalars.append(ignoresCase && lower.count == 1 ? lower.first ?? scalar : scalar)
        }
        return Array(result.utf8)
    }

    /// Returns a text as `canonical:` gives it: without case and diacritics.
    static func canonical(_ text: String) -> String {
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }

    /// The lower-case letter of an ASCII capital; every other byte unchanged.
    static func lowered(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }
    /// The capital of an ASCII lower-case letter; every other byte unchanged.
    static func raised(_ byte: UInt8) -> UInt8 { byte >= 0x61 && byte <= 0x7A ? byte & 0xDF : byte }
}
