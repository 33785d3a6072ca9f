/// Finds the parts of one Swift source that Linux refuses, and their replacements.
struct PortRules {
    private let file: String
    private let source: String
    private let bytes: [UInt8]
    private let tokens: [SwiftToken]
    /// The classes of all sources that inherit from the framework's managed object.
    private let objectClasses: Set<String>
    private var findings: [PortFinding] = []
    private var edits: [PortEdit] = []
    private var importsStagecoach = false

    /// Modules of Apple's systems whose import is replaced. Stagecoach has the parts that policies use, or nothing can replace
    /// them.
    private static let replaced: Set<String> = ["CoreData", "Foundation", "UIKit", "AppKit", "Cocoa", "SwiftUI"]
    /// Modules missing on Linux, with names that no rule can replace.
    private static let absent: Set<String> = [
        "os", "OSLog", "Combine", "CoreGraphics", "CoreLocation", "CoreImage", "CoreSpotlight", "CloudKit", "MapKit",
        "AVFoundation", "Photos", "Security", "WidgetKit", "ObjectiveC", "CryptoKit", "CommonCrypto", "StoreKit",
    ]
    /// Names of UIKit and AppKit that no common prefix identifies.
    private static let appKitNames: Set<String> = [
        "NSColor", "NSImage", "NSFont", "NSView", "NSApplication", "CIColor",
    ]

    private init(file: String, source: String, tokens: [SwiftToken], objectClasses: Set<String>) {
        self.file = file
        self.source = source
        bytes = Array(source.utf8)
        self.tokens = tokens
        self.objectClasses = objectClasses
    }

    /// Applies all rules to a source.
    ///
    /// - Complexity: O(tokens).
    static func apply(
        file: String, source: String, tokens: [SwiftToken], objectClasses: Set<String>
    ) -> PortedSource {
        var rules = PortRules(file: file, source: source, tokens: tokens, objectClasses: objectClasses)
        rules.importsStagecoach = zip(tokens, tokens.dropFirst()).contains {
            $0.isWord("import") && $1.isWord("Stagecoach")
        }
        var index = 0
        while index < tokens.count { index = rules.rule(at: index) }
        return PortedSource(file: file, source: source, findings: rules.findings, edits: rules.edits)
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private mutating func note(
        _ kind: PortFinding.Kind, _ token: SwiftToken, text: String? = nil, replacement: String? = nil,
        _ message: String
    ) {
        findings.append(
            PortFinding(
                file: file, line: token.line, column: token.column, kind: kind, text: text ?? token.text,
                replacement: replacement, message: message))
    }

    /// Applies the rules to a token.
    ///
    /// - Returns: the index of the next token to examine.
    private mutating func rule(at index: Int) -> Int {
        let token = tokens[index]
        switch token.kind {
        case .attribute: return attribute(at: index)
        case .directive: return directive(at: index)
        case .word:
            if token.isWord("import"), let next = importStatement(at: index) { return next }
            return word(at: index)
        default: return index + 1
        }
    }

    // MARK: - Imports

    private mutating func importStatement(at index: Int) -> Int? {
        let kinds: Set<String> = ["struct", "class", "enum", "protocol", "typealias", "func", "var", "let"]
        var next = index + 1
        if next < tokens.count, kinds.contains(tokens[next].text) { next += 1 }
        guard next < tokens.count, tokens[next].kind == .word, tokens[next].line == tokens[index].line else {
            return nil
        }
        let module = tokens[next].text
        while next + 2 < tokens.count, tokens[next + 1].isMark("."), tokens[next + 2].kind == .word { next += 2 }
        // Attributes and access modifiers before the import belong to the statement.
        var first = index
        while first > 0, tokens[first - 1].line == tokens[index].line,
            tokens[first - 1].kind == .attribute || tokens[first - 1].kind == .word
        {
            first -= 1
        }
        let start = tokens[first]
        let whole = text(start.range.lowerBound..<tokens[next].range.upperBound)
        if Self.replaced.contains(module) {
            let replacement = importsStagecoach ? "" : "import Stagecoach"
            importsStagecoach = true
            note(
                .change, start, text: whole, replacement: replacement,
                replacement.isEmpty
                    ? "Stagecoach brings what policies use of \(module)"
                    : "Stagecoach has Core Data's names and brings Foundation")
            edits.append(
                replacement.isEmpty
                    ? wholeLine(start.range.lowerBound..<tokens[next].range.upperBound)
                    : PortEdit(
                        range: start.range.lowerBound..<tokens[next].range.upperBound, replacement: replacement))
        } else if Self.absent.contains(module) {
            note(.manual, start, text: whole, replacement: "", "There is no module \(module) on Linux")
            edits.append(wholeLine(start.range.lowerBound..<tokens[next].range.upperBound))
        }
        return next + 1
    }

    /// Returns an edit that removes a range, and its line if nothing else is on it.
    private func wholeLine(_ range: Range<Int>) -> PortEdit {
        var start = range.lowerBound
        var end = range.upperBound
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        while start > 0, isSpace(bytes[start - 1]) { start -= 1 }
        while end < bytes.count, isSpace(bytes[end]) { end += 1 }
        let startsLine = start == 0 || bytes[start - 1] == UInt8(ascii: "\n")
        let endsLine = end == bytes.count || bytes[end] == UInt8(ascii: "\n")
        guard startsLine, endsLine else { return PortEdit(range: range.lowerBound..<end, replacement: "") }
        return PortEdit(range: start..<min(end + 1, bytes.count), replacement: "")
    }

    // MARK: - Attributes

    private mutating func attribute(at index: Int) -> Int {
        let token = tokens[index]
        switch token.text {
        case "@objc", "@objcMembers", "@nonobjc", "@IBAction", "@IBOutlet", "@NSApplicationMain":
            var end = index
            if token.text == "@objc", index + 1 < tokens.count, tokens[index + 1].isMark("("),
                tokens[index + 1].range.lowerBound == token.range.upperBound
            {
                end = closing(index + 1)
            }
            let range = token.range.lowerBound..<tokens[min(end, tokens.count - 1)].range.upperBound
            let whole = text(range)
            let message =
                switch token.text {
                case "@objc" where end > index: "Linux has no Objective-C runtime: the name goes into the registration"
                case "@objc": "Linux has no Objective-C runtime: expression functions are registered by their selector"
                default: "Linux has no Objective-C runtime"
                }
            note(.change, token, text: whole, replacement: "", message)
            edits.append(wholeLine(range))
            return end + 1
        case "@NSManaged": return managed(at: index)
        default: return index + 1
        }
    }

    /// Replaces `@NSManaged var name: Type` by a computed property over the object's value.
    private mutating func managed(at index: Int) -> Int {
        let token = tokens[index]
        var position = index + 1
        while position < tokens.count, tokens[position].line == token.line || position == index + 1,
            !tokens[position].isWord("var"), !tokens[position].isWord("func")
        {
            position += 1
        }
        guard position + 3 < tokens.count, tokens[position].isWord("var"), tokens[position + 2].isMark(":") else {
            note(.manual, token, "Linux generates no accessors: use value(forKey:), or mutableSetValue(forKey:)")
            edits.append(removal(ofLineOf: token))
            return index + 1
        }
        let name = tokens[position + 1].text
        var end = position + 3
        while end + 1 < tokens.count, tokens[end + 1].line == tokens[position].line { end += 1 }
        let type = text(tokens[position + 3].range.lowerBound..<tokens[end].range.upperBound)
        let isOptional = type.hasSuffix("?") || type.hasSuffix("!")
        let wrapped = isOptional ? String(type.dropLast()) : type
        let cast = isOptional ? "as? \(wrapped)" : "as! \(wrapped)"
        let declaration = text(tokens[index + 1].range.lowerBound..<tokens[end].range.upperBound)
        let replacement =
            "\(declaration) { get { value(forKey: \"\(name)\") \(cast) } set { setValue(newValue, forKey: \"\(name)\") } }"
        let range = token.range.lowerBound..<tokens[end].range.upperBound
        note(
            .change, token, text: text(range), replacement: replacement,
            "Linux generates no accessors: the property reads and writes the object's value")
        edits.append(PortEdit(range: range, replacement: replacement))
        return end + 1
    }

    /// Returns an edit that comments out the line of a token.
    private func removal(ofLineOf token: SwiftToken) -> PortEdit {
        PortEdit(range: token.range.lowerBound..<token.range.lowerBound, replacement: "// ")
    }

    /// Returns the index of the parenthesis that closes the one at an index.
    private func closing(_ index: Int) -> Int {
        var depth = 0
        for position in index..<tokens.count {
            if tokens[position].isMark("(") { depth += 1 }
            if tokens[position].isMark(")") {
                depth -= 1
                if depth == 0 { return position }
            }
        }
        return tokens.count - 1
    }

    // MARK: - Directives

    private mutating func directive(at index: Int) -> Int {
        let token = tokens[index]
        guard token.text == "#keyPath" || token.text == "#selector", index + 1 < tokens.count,
            tokens[index + 1].isMark("(")
        else { return index + 1 }
        let close = closing(index + 1)
        let range = token.range.lowerBound..<tokens[close].range.upperBound
        let inner = Array(tokens[index + 2..<max(index + 2, close)])
        if token.text == "#keyPath" {
            var names = inner.filter { $0.kind == .word }.map(\.text)
            if let first = names.first?.first, first.isUppercase { names.removeFirst() }
            // `Outer.Inner.name`
            while names.count > 1, names[0].first?.isUppercase == true { names.removeFirst() }
            if names.first == "self" { names.removeFirst() }
            let replacement = "\"\(names.joined(separator: "."))\""
            note(
                .change, token, text: text(range), replacement: replacement,
                "Linux has no #keyPath: the key path as a string")
            edits.append(PortEdit(range: range, replacement: replacement))
        } else {
            let replacement = "\"\(selector(inner))\""
            note(
                .change, token, text: text(range), replacement: replacement,
                "Linux has no #selector: the selector as a string")
            edits.append(PortEdit(range: range, replacement: replacement))
        }
        return close + 1
    }

    /// Returns the selector that `#selector(Type.method(label:))` names.
    private func selector(_ inner: [SwiftToken]) -> String {
        let open = inner.firstIndex { $0.isMark("(") } ?? inner.count
        let base = inner[..<open].last { $0.kind == .word }?.text ?? ""
        let labels = inner[open...].filter { $0.kind == .word }.map { $0.isWord("_") ? "" : $0.text }
        return SelectorName.selector(base: base, labels: labels)
    }

    // MARK: - Words

    private mutating func word(at index: Int) -> Int {
        let token = tokens[index]
        let isMember = index > 0 && tokens[index - 1].isMark(".")
        let isCall = index + 1 < tokens.count && tokens[index + 1].isMark("(")
        switch token.text {
        case "autoreleasepool" where !isMember:
            note(.hint, token, "Linux has no autorelease pools; Stagecoach's function of this name runs the closure")
        case "Selector" where !isMember && isCall, "NSSelectorFromString" where isCall:
            selectorCall(at: index)
        case "ValueTransformer", "NSValueTransformer":
            note(.manual, token, "Foundation on Linux has no value transformers: transformable values are Data")
        case "NSKeyedUnarchiver":
            note(.hint, token, "On Linux an archive of an unknown class ends the process; decode with care")
        case "NSClassFromString":
            note(.hint, token, "Linux finds only classes of Swift by their mangled or qualified name")
        case "os_log", "OSLog", "Logger":
            note(.manual, token, "Linux has no unified logging: use print or NSLog")
        case _ where Self.appKitNames.contains(token.text) || isUIKitName(token.text):
            note(.manual, token, "Linux has no \(token.text): convert with Foundation's types")
        case "as" where index + 2 < tokens.count: castHint(at: index)
        case "class" where index + 3 < tokens.count && tokens[index + 1].kind == .word && !isMember:
            if objectClasses.contains(tokens[index + 1].text) {
                note(
                    .hint, tokens[index + 1],
                    "During a migration every object is a plain NSManagedObject: use value(forKey:), not this class")
            }
        default: break
        }
        return index + 1
    }

    private func isUIKitName(_ name: String) -> Bool {
        let scalars = Array(name.unicodeScalars)
        guard scalars.count > 3, name.hasPrefix("UI") else { return false }
        return ("A"..."Z").contains(scalars[2]) && ("a"..."z").contains(scalars[3])
    }

    private mutating func selectorCall(at index: Int) {
        let token = tokens[index]
        let close = closing(index + 1)
        let range = token.range.lowerBound..<tokens[close].range.upperBound
        guard close == index + 3, tokens[index + 2].kind == .string else {
            note(.manual, token, text: text(range), "Linux has no Selector: call the method itself")
            return
        }
        note(
            .change, token, text: text(range), replacement: tokens[index + 2].text,
            "Linux has no Selector: the selector as a string")
        edits.append(PortEdit(range: range, replacement: tokens[index + 2].text))
    }

    /// Reports casts that succeed on Apple's systems and fail on Linux.
    private mutating func castHint(at index: Int) {
        let mark = tokens[index + 1]
        guard mark.isMark("!") || mark.isMark("?") else { return }
        let type = tokens[index + 2]
        let whole = text(tokens[index].range.lowerBound..<type.range.upperBound)
        if objectClasses.contains(type.text) {
            note(
                .hint, tokens[index], text: whole,
                "During a migration every object is a plain NSManagedObject: this cast fails")
        } else if ["Int", "Int16", "Int32", "Int64", "UInt", "Double", "Float"].contains(type.text) {
            note(
                .hint, tokens[index], text: whole,
                "An NSNumber, as value(forKey:) gives it, casts to \(type.text); on Linux another Swift number in Any does not"
            )
        }
    }
}
