extension PortRules {
    /// Modules of Apple's systems whose import is replaced. Stagecoach has the parts that policies use, or nothing can replace
    /// them.
    private static let replaced: Set<String> = ["CoreData", "Foundation", "UIKit", "AppKit", "Cocoa", "SwiftUI"]
    /// Modules that Swift brings to Linux, and ours.
    private static let present: Set<String> = [
        "Stagecoach", "Swift", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking",
        "FoundationXML", "Dispatch", "Glibc", "Musl", "Synchronization", "RegexBuilder", "Observation", "Distributed",
        "XCTest", "Testing", "Cxx",
    ]
    /// Beginnings and names of Apple's modules; any other is a package's or the app's.
    private static let appleModules: Set<String> = [
        "os", "OSLog", "Combine", "Security", "Photos", "ObjectiveC", "Darwin", "Contacts", "EventKit", "Intents",
        "Accelerate", "Network", "Vision", "Charts", "TipKit", "Messages", "Social", "Accounts", "Metal", "simd",
        "CommonCrypto", "CryptoKit", "QuartzCore", "ImageIO", "WebKit", "NaturalLanguage", "SystemConfiguration",
        "PassKit", "ARKit", "SafariServices", "LinkPresentation", "CarPlay", "Speech", "SwiftData", "MusicKit",
    ]
    private static let applePrefixes = [
        "Core", "Cloud", "Health", "Map", "AV", "Store", "Game", "Home", "Media", "Quick", "Uniform", "User", "Watch",
        "Widget", "App", "Background", "Local", "Mobile", "Multipeer", "PDF", "Scene", "Sprite", "Weather", "Sensor",
        "Background", "Device", "Exposure", "External", "File", "Screen", "Shazam", "Sound",
    ]

    mutating func importStatement(at index: Int) -> Int? {
        let kinds: Set<String> = ["struct", "class", "enum", "protocol", "typealias", "func", "var", "let"]
        var next = index + 1
        if next < tokens.count, kinds.contains(tokens[next].text) { next += 1 }
        guard tokens.isWord(next), tokens[next].line == tokens[index].line else { return nil }
        let module = tokens[next].text
        while isMark(next + 1, "."), tokens.isWord(next + 2) { next += 2 }
        // Attributes and access modifiers before the import belong to the statement.
        var first = index
        while first > 0, tokens[first - 1].line == tokens[index].line,
            tokens[first - 1].kind == .attribute || tokens[first - 1].kind == .word
        {
            first -= 1
        }
        let start = tokens[first]
        let whole = text(from: first, to: next)
        let range = start.range.lowerBound..<tokens[next].range.upperBound
        if Self.replaced.contains(module) {
            let replacement = importsStagecoach ? "" : "import Stagecoach"
            importsStagecoach = true
            note(
                .change, start, text: whole, replacement: replacement,
                replacement.isEmpty
                    ? "Stagecoach brings what policies use of \(module)"
                    : "Stagecoach has Core Data's names and brings Foundation")
            if replacement.isEmpty { remove(range) } else { edit(range, replacement) }
        } else if !Self.present.contains(module) {
            let isApple =
                Self.appleModules.contains(module) || Self.applePrefixes.contains { module.hasPrefix($0) }
                || module.hasSuffix("Kit")
            note(
                .manual, start, text: whole, replacement: "",
                isApple
                    ? "There is no module \(module) on Linux"
                    : "The module \(module) is the app's or a package's: port what the policies use of it")
            remove(range)
        }
        return next + 1
    }
}
