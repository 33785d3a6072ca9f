import Diagnostics
import Foundation

/// A shared library that a program or another library needs.
struct NeededLibrary: Encodable, Equatable {
    let name: String
    /// The file that the loader takes; nil if it finds none.
    let path: String?
}

/// The loader's own view of a program or a shared library: nothing of it is run.
enum LoaderView {
    #if arch(x86_64)
        private static let loader = "/lib64/ld-linux-x86-64.so.2"
    #elseif arch(arm64)
        private static let loader = "/lib/ld-linux-aarch64.so.1"
    #else
        private static let loader = ""
    #endif

    /// Returns the libraries that a program or library needs, also through others; nil if the loader cannot be asked.
    static func libraries(of path: String) -> [NeededLibrary]? {
        // Without a slash, the loader would search its own folders.
        guard let text = output(of: path.contains("/") ? path : "./" + path) else { return nil }
        return parse(text)
    }

    /// Reads the loader's lines: `libz.so.1 => /lib/libz.so.1 (0x…)` and `libz.so.1 => not found`.
    static func parse(_ text: String) -> [NeededLibrary] {
        var seen: Set<Substring> = []
        // A library that several others need may be told several times, if it is missing.
        return text.split(separator: "\n").compactMap { line in
            guard let arrow = line.range(of: " => ") else { return nil }
            let name = line[..<arrow.lowerBound].drop { $0 == "\t" || $0 == " " }
            guard seen.insert(name).inserted else { return nil }
            let found = line[arrow.upperBound...]
            let path = found.hasPrefix("/") ? found.range(of: " (").map { String(found[..<$0.lowerBound]) } : nil
            return NeededLibrary(name: String(name), path: path)
        }
    }

    /// Returns the error for a library that needs others which the loader does not find, and which a program does not bring; nil
    /// if it needs none such.
    static func missing(_ path: String, of program: String) -> MigrationError? {
        let names = missingNames(path, of: program)
        guard !names.isEmpty else { return nil }
        return MigrationError(
            "policies.missingLibraries", .configuration,
            "The loader does not find what the library needs: \(names.joined(separator: ", "))",
            remedy: "Copy it beside the library, or name its folder in LD_LIBRARY_PATH", at: path)
    }

    /// Returns the names of the libraries that ``missing(_:of:)`` is about.
    static func missingNames(_ path: String, of program: String) -> [String] {
        let needed = (libraries(of: path) ?? []).filter { $0.path == nil }.map(\.name)
        guard !needed.isEmpty else { return [] }
        // A library that the program has loaded already is found by its name.
        let brought = Set((libraries(of: program) ?? []).filter { $0.path != nil }.map(\.name))
        return needed.filter { !brought.contains($0) }
    }

    /// Runs the loader as `ldd` does: it prints what it finds, and ends before it runs anything.
    private static func output(of path: String) -> String? {
        let folders = getenv("LD_LIBRARY_PATH").map { ["LD_LIBRARY_PATH=" + String(cString: $0)] } ?? []
        let environment = ["LD_TRACE_LOADED_OBJECTS=1"] + folders
        guard access(loader, X_OK) == 0,
            let child = ChildProcess(loader, [loader, path], environment: environment, isSilent: true)
        else { return nil }
        close(child.input)
        let text = FileHandle(fileDescriptor: child.output, closeOnDealloc: true).readDataToEndOfFile()
        return child.wait() == 0 ? String(decoding: text, as: UTF8.self) : nil
    }
}
