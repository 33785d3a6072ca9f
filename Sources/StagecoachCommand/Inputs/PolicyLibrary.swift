import Diagnostics
import Glibc

/// A shared library of policies, given with `--policies`.
///
/// It uses this process's Stagecoach: the program exports its symbols, and the library's references resolve to them first.
enum PolicyLibrary {
    /// The symbol that every such library exports: a C function without arguments or result that registers its policies.
    static let symbol = "stagecoach_register_policies"

    /// True if this program loads Swift's own libraries dynamically, as a library of policies does. If they were linked
    /// statically, the process would have two copies of their classes.
    static let sharesSwift: Bool = {
        guard let core = dlopen("libswiftCore.so", RTLD_LAZY | RTLD_NOLOAD) else { return false }
        dlclose(core)
        return true
    }()

    /// Loads a library and lets it register its policies. It stays loaded until the process ends.
    ///
    /// - Parameter sharesSwift: true if this program can load such libraries at all.
    /// - Returns: the digest of its file: 64 hexadecimal digits.
    @discardableResult
    static func load(_ path: String, sharesSwift: Bool = PolicyLibrary.sharesSwift) throws(MigrationError) -> String {
        try requireReadable(path)
        guard sharesSwift else {
            throw MigrationError(
                "policies.staticProgram", .configuration,
                "This program has Swift's libraries linked into it and cannot load a library of policies",
                remedy: "Build stagecoach-policies without --static-swift-stdlib", at: path)
        }
        let digest = try InputFile.digest(path, what: "library of policies")
        // Without a slash, the loader would search its own folders.
        let name = path.contains("/") ? path : "./" + path
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let reason = reason()
            if let missing = LoaderView.missing(path, of: "/proc/self/exe") { throw missing }
            throw MigrationError(
                "policies.unloadable", .configuration, "The library of policies cannot be loaded: \(reason)",
                remedy: "Build it with the Swift version and the Stagecoach version of this program", at: path)
        }
        guard let address = dlsym(library, symbol) else {
            throw noSymbol(path)
        }
        unsafeBitCast(address, to: (@convention(c) () -> Void).self)()
        return digest
    }

    /// Refuses a library that is not there or may not be read.
    static func requireReadable(_ path: String) throws(MigrationError) {
        guard try InputFile.exists(path, "library of policies") else {
            throw MigrationError("policies.notFound", .noInput, "There is no such library of policies", at: path)
        }
        guard access(path, R_OK) == 0 else {
            throw MigrationError(
                "policies.permission", .permission, "The library of policies may not be read", at: path)
        }
    }

    static func noSymbol(_ path: String) -> MigrationError {
        MigrationError(
            "policies.noSymbol", .configuration, "The library does not export \(symbol)",
            remedy: "Add: @_cdecl(\"\(symbol)\") public func registerPolicies() { PolicyRegistry.register(…) }",
            at: path)
    }

    private static func reason() -> String { dlerror().map { String(cString: $0) } ?? "unknown error" }
}
