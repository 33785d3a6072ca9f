import Glibc

/// The sanitizers under which these tests, and the commands that they start, run. Their own memory counts as the tests'.
public enum Instrumentation {
    /// True if the address or thread sanitizer is linked in.
    public static let isSanitized = (["__asan_init", "__tsan_init"] as [String]).contains { name in
        dlsym(nil, name) != nil
    }

    /// A memory limit for a command whose memory is not what a test looks at: under a sanitizer one that it can keep.
    public static func limit(_ limit: String) -> String { isSanitized ? "4G" : limit }
}
