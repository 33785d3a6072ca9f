import Synchronization

/// Standard error: whole lines of messages, and on a terminal one progress line below them, redrawn in place.
package final class MessageStream: Sendable {
    private let sink: any TextSink
    /// The length of the progress line now on the terminal, in characters.
    private let drawn = Mutex(0)

    package init(_ sink: any TextSink) { self.sink = sink }

    /// Writes whole lines, after removing the progress line.
    package func write(_ text: String) {
        drawn.withLock { width in
            sink.write(Self.erasing(width) + text)
            width = 0
        }
    }

    /// Replaces the progress line; an empty text removes it. Spaces erase the old line, without escape codes.
    package func redraw(_ line: String) {
        drawn.withLock { width in
            sink.write(line.isEmpty ? Self.erasing(width) : "\r" + line.padded(to: width))
            width = line.count
        }
    }

    private static func erasing(_ width: Int) -> String {
        width == 0 ? "" : "\r" + String(repeating: " ", count: width) + "\r"
    }
}
