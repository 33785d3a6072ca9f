import CLinux
import Glibc

/// A program that was started with pipes to its standard input and from its standard output.
struct ChildProcess {
    let process: pid_t
    /// The end to write to the program's standard input; the owner closes it.
    let input: Int32
    /// The end to read its standard output from; the owner closes it.
    let output: Int32

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: its arguments, with its name first.
    ///   - environment: its variables as `NAME=value`.
    ///   - isSilent: true to drop its messages on standard error.
    /// - Returns: nil with `errno` set if the system cannot start it.
    init?(_ program: String, _ words: [String], environment: [String], isSilent: Bool = false) {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        guard pipe2(&toChild, O_CLOEXEC) == 0 else { return nil }
        guard pipe2(&fromChild, O_CLOEXEC) == 0 else {
            for end in toChild { close(end) }
            return nil
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO)
        if isSilent { posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) }
        // Its own process group, so that the terminal's Ctrl-C reaches only this process, which passes it on once.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unmasked = sigset_t()
        sigemptyset(&unmasked)
        posix_spawnattr_setsigmask(&attributes, &unmasked)
        // A program inherits what this one ignores.
        var ignoredHere = sigset_t()
        sigemptyset(&ignoredHere)
        for number in [SIGPIPE, SIGXFSZ] { sigaddset(&ignoredHere, number) }
        posix_spawnattr_setsigdefault(&attributes, &ignoredHere)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process: pid_t = 0
        let failure = Self.withWords(words) { words in
            Self.withWords(environment) { posix_spawn(&process, program, &actions, &attributes, words, $0) }
        }
        close(toChild[0])
        close(fromChild[1])
        guard failure == 0 else {
            close(toChild[1])
            close(fromChild[0])
            errno = failure
            return nil
        }
        (self.process, input, output) = (process, toChild[1], fromChild[0])
    }

    /// Waits for the end of the program. Returns its status as `waitpid` gives it.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// Calls a closure with words as C takes them: C strings, and nil at the end.
    static func withWords<Result>(_ words: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        let copies = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return body(copies)
    }
}
