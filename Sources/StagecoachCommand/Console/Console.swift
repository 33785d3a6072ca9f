import Glibc

/// The environment of a command: streams, terminal, environment variables, interruption. Tests supply their own.
package struct Console: Sendable {
    /// Standard output: results.
    package let output: any TextSink
    /// Standard error: messages and progress.
    package let messages: MessageStream
    package let environment: [String: String]
    /// True if standard error is a terminal.
    package let isTerminal: Bool
    /// The width of the terminal in columns; nil if unknown. Read anew for each line, because windows are resized.
    package let columns: @Sendable () -> Int?
    package let interruption: Interruption
    /// The memory limit in bytes of a worker of a batch; nil in another process.
    let workerMemory: Int?

    package init(
        output: any TextSink, error: any TextSink, environment: [String: String] = [:], isTerminal: Bool = false,
        columns: @escaping @Sendable () -> Int? = { nil }, interruption: Interruption? = nil, workerMemory: Int? = nil
    ) {
        self.output = output
        messages = MessageStream(error)
        self.environment = environment
        self.isTerminal = isTerminal
        self.columns = columns
        self.interruption = interruption ?? Interruption()
        self.workerMemory = workerMemory
    }

    /// The greatest width of a line of progress or help in columns: `COLUMNS`, else the terminal's width, else 80.
    var lineWidth: Int {
        if let text = environment["COLUMNS"], let number = Int(text), number > 0 { return number }
        return columns() ?? 80
    }

    /// Returns the width of a terminal in columns, by its descriptor; nil if unknown.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
