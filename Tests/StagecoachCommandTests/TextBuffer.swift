import Synchronization

@testable import StagecoachCommand

/// Keeps text in memory.
final class TextBuffer: TextSink {
    private let content = Mutex("")

    var failure: Int32 { 0 }
    var text: String { content.withLock { $0 } }

    func write(_ text: String) { content.withLock { $0 += text } }
}
