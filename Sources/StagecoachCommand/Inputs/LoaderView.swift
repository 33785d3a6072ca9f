import Glibc

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
        text.split(separator: "\n").compactMap { line in
            guard let arrow = line.range(of: " => ") else { return nil }
            let name = line[..<arrow.lowerBound].drop { $0 == "\t" || $0 == " " }
            let found = line[arrow.upperBound...]
            let path = found.hasPrefix("/") ? found.range(of: " (").map { String(found[..<$0.lowerBound]) } : nil
            return NeededLibrary(name: String(name), path: path)
        }
    }

    /// Runs the loader as `ldd` does: it prints what it finds, and ends before it runs anything.
    private static func output(of path: String) -> String? {
        var ends: [Int32] = [0, 0]
        guard access(loader, X_OK) == 0, pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var settings: [UnsafeMutablePointer<CChar>?] = [strdup("LD_TRACE_LOADED_OBJECTS=1")]
        if let folders = getenv("LD_LIBRARY_PATH") {
            settings.append(strdup("LD_LIBRARY_PATH=" + String(cString: folders)))
        }
        settings.append(nil)
        let words = [strdup(loader), strdup(path), nil]
        defer { for text in words + settings { free(text) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, loader, &actions, nil, words, settings)
        close(ends[1])
        defer { close(ends[0]) }
        guard failure == 0 else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(ends[0], &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
