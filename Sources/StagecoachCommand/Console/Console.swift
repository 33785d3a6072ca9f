import Glibc

/// Everything a command sees of the world around it: streams, terminal, environment, the wish to stop. Tests bring
/// their own.
package struct Console: Sendable {
    /// Standard output: results.
    package let output: any TextSink
    /// Standard error: messages and progress.
    package let messages: MessageStream
    package let environment: [String: String]
    /// Whether standard error is a terminal.
    package let isTerminal: Bool
    /// Columns of the terminal, as it says; nil where it does not. Asked anew for each line, because windows change.
    package let columns: @Sendable () -> Int?
    package let interruption: Interruption

    package init(
        output: any TextSink, error: any TextSink, environment: [String: String] = [:], isTerminal: Bool = false,
        columns: @escaping @Sendable () -> Int? = { nil }, interruption: Interruption? = nil
    ) {
        self.output = output
        messages = MessageStream(error)
        self.environment = environment
        self.isTerminal = isTerminal
        self.columns = columns
        self.interruption = interruption ?? Interruption()
    }

    /// Columns that a progress line may take: `COLUMNS`, else what the terminal says, else 80.
    var lineWidth: Int {
        if let text = environment["COLUMNS"], let number = Int(text), number > 0 { return number }
        return columns() ?? 80
    }

    /// Columns of a terminal by its descriptor.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
