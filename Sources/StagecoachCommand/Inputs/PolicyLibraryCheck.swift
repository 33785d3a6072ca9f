import Diagnostics
import Foundation
import Stagecoach

/// The findings of `stagecoach policies check` in a library of policies.
struct PolicyLibraryCheck: Encodable {
    /// A policy class that the library registers.
    struct Policy: Encodable {
        let className: String
        /// The other names by which mapping models can call it.
        let names: [String]
        /// The selectors that expressions can call.
        let functions: [String]
    }

    let library: String
    /// The compiler that built the library: `Swift version 6.3.1 (swift-6.3.1-RELEASE)`, or the clang in it, `clang version …`;
    /// nil if the file does not tell, because it is stripped.
    let compiler: String?
    /// The compiler that built this program, told in the same way.
    let programCompiler: String?
    let registers: Bool
    /// The libraries that it needs; nil if the loader cannot be asked.
    let needed: [NeededLibrary]?
    /// The names of needed libraries that the loader does not find, and that the program does not bring.
    let missing: [String]
    /// The policies; nil if the library was not loaded.
    private(set) var policies: [Policy]?
    /// The reason why a migration cannot use the library; nil if it can.
    private(set) var problem: MigrationError?

    private enum Key: CodingKey {
        case library, compiler, programCompiler, registers, needed, missing, policies, problem
    }

    /// Examines a library, and loads it where that can succeed.
    init(_ path: String) throws(MigrationError) {
        try PolicyLibrary.requireReadable(path)
        let content = Data(try InputFile.read(path, what: "library of policies"))
        guard content.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else {
            throw MigrationError("policies.unloadable", .configuration, "The file is no shared library", at: path)
        }
        library = path
        let program = try? Data(contentsOf: URL(fileURLWithPath: "/proc/self/exe"), options: .alwaysMapped)
        (compiler, programCompiler) = Self.compilers(of: content, and: program ?? Data())
        registers = content.range(of: Data("\0\(PolicyLibrary.symbol)\0".utf8)) != nil
        needed = LoaderView.libraries(of: path)
        let loading = PolicyProgram.besideThis
        missing = LoaderView.missingNames(path, of: loading)
        problem =
            PolicyProgram.obstacle(loading) ?? LoaderView.missing(path, of: loading)
            ?? (registers ? nil : PolicyLibrary.noSymbol(path))
        guard problem == nil else { return }
        do {
            policies = try Self.load(path)
            if policies?.isEmpty == true {
                problem = MigrationError("policies.none", .configuration, "The library registers no policy", at: path)
            }
        } catch { problem = error }
    }

    private static func load(_ path: String) throws(MigrationError) -> [Policy] {
        let before = Set(PolicyRegistry.shared.names)
        try PolicyLibrary.load(path)
        return PolicyRegistry.shared.registered(except: before).map {
            Policy(className: $0.className, names: $0.names, functions: $0.selectors)
        }
    }

    /// Texts that compilers leave in what they build: the Swift compiler with debug information, the clang in it always.
    private static let compilerMarks = ["Swift version ", "clang version "]

    /// Finds the compilers that built two binaries, told in the same way where both tell in one.
    static func compilers(of library: Data, and program: Data) -> (library: String?, program: String?) {
        var ofLibrary: String?
        for mark in compilerMarks {
            guard let own = compiler(mark, in: library) else { continue }
            if let other = compiler(mark, in: program) { return (own, other) }
            ofLibrary = ofLibrary ?? own
        }
        return (ofLibrary, nil)
    }

    /// Finds a compiler's version in a binary: `Swift version 6.3.1 (swift-6.3.1-RELEASE)`.
    static func compiler(_ mark: String, in content: Data) -> String? {
        var rest = content[...]
        while let start = rest.range(of: Data(mark.utf8)) {
            rest = rest[start.upperBound...]
            // Messages have these words, too.
            guard let digit = rest.first, (0x30...0x39).contains(digit) else { continue }
            let text = String(decoding: rest.prefix(200).prefix { $0 >= 0x20 && $0 < 0x7F }, as: UTF8.self)
            return mark + (text.firstIndex(of: ")").map { String(text[...$0]) } ?? text)
        }
        return nil
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(library, forKey: .library)
        try container.encode(compiler, forKey: .compiler)
        try container.encode(programCompiler, forKey: .programCompiler)
        try container.encode(registers, forKey: .registers)
        try container.encode(needed, forKey: .needed)
        try container.encode(missing, forKey: .missing)
        try container.encode(policies, forKey: .policies)
        try container.encode(problem?.code.rawValue, forKey: .problem)
    }
}
