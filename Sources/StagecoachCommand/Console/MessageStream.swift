import Synchronization

/// Standard error: messages by the line, and on a terminal one progress line beneath them, redrawn in place.
package final class MessageStream: Sendable {
    private let sink: any TextSink
    /// Characters of the progress line that stands on the terminal now.
    private let drawn = Mutex(0)

    package init(_ sink: any TextSink) { self.sink = sink }

    /// Writes whole lines, the progress line out of the way.
    package func write(_ text: String) {
        drawn.withLock { width in
            sink.write(Self.erasing(width) + text)
            width = 0
        }
    }

    /// Puts a progress line in place of the last one; an empty text takes it away. No escape codes: spaces erase.
    package func redraw(_ line: String) {
        drawn.withLock { width in
            if line.isEmpty {
                sink.write(Self.erasing(width))
            } else {
                sink.write("\r" + line.padded(to: width))
            }
            width = line.count
        }
    }

    private static func erasing(_ width: Int) -> String {
        width == 0 ? "" : "\r" + String(repeating: " ", count: width) + "\r"
    }
}
