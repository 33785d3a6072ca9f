import Diagnostics

/// The arguments of a subcommand: `--name value`, `--flag` and plain ones.
struct Arguments {
    private(set) var plain: [String] = []
    private var values: [String: String] = [:]
    private var flags: Set<String> = []

    /// - Parameters:
    ///   - list: what follows the subcommand.
    ///   - options: names that take a value, without `--`.
    ///   - flags: names that stand alone.
    /// - Throws: `benchmark.usage` (64) for a name that is not known, or one without its value.
    init(_ list: [String], options: Set<String>, flags known: Set<String> = []) throws(MigrationError) {
        var rest = list[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                plain.append(argument)
                continue
            }
            let name = String(argument.dropFirst(2))
            if known.contains(name) {
                flags.insert(name)
            } else if options.contains(name), let value = rest.popFirst() {
                values[name] = value
            } else {
                throw Self.usage("\(argument) is not an option, or its value is missing")
            }
        }
    }

    func has(_ flag: String) -> Bool { flags.contains(flag) }

    func text(_ name: String) -> String? { values[name] }

    /// The value of an option that must be given.
    func required(_ name: String) throws(MigrationError) -> String {
        guard let value = values[name] else { throw Self.usage("--\(name) is missing") }
        return value
    }

    /// A positive number; nil if the option is not given.
    func number(_ name: String) throws(MigrationError) -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), number > 0 else { throw Self.usage("--\(name) wants a positive number: \(text)") }
        return number
    }

    /// A number of bytes, with K, M or G behind it or none.
    func bytes(_ name: String) throws(MigrationError) -> Int? {
        guard let text = values[name] else { return nil }
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30]
        let shift = text.last.flatMap { shifts[$0] }
        let digits = shift == nil ? text[...] : text.dropLast()
        guard let number = Int(digits), number > 0, number < 1 << 30 else {
            throw Self.usage("--\(name) wants a size such as 64M: \(text)")
        }
        return number << (shift ?? 0)
    }

    static func usage(_ message: String) -> MigrationError {
        MigrationError(
            "benchmark.usage", .usage, message,
            remedy:
                "store --books N [--seed N] OUT | run --store FILE [--rounds N] [--memory-limit 64M] [--json FILE] [--ways a,b] | "
                + "associations [--pairs N] [--memory 16M] | spill --store FILE [--model MODEL]")
    }
}
