import Diagnostics
import Glibc

extension ProcessMemory {
    /// Gives the resident code of the program and its libraries back, and the tables that the loader and the runtime have read.
    /// Code that runs next is mapped again from the page cache, in pieces of 64 KiB.
    ///
    /// Reading arguments, models and mapping models touches 20 MiB of code that copying rows never runs.
    ///
    /// A traced process keeps its code: it holds a debugger's breakpoints.
    ///
    /// - Complexity: a tenth of a millisecond.
    package static func releaseCode() {
        // /proc/self/status, not smaps: for smaps the kernel counts all pages, which takes a millisecond.
        guard statusField("TracerPid:") ?? 0 == 0 else { return }
        guard let text = try? FileBytes.read("/proc/self/maps", most: 1 << 20) else { return }
        text.withUnsafeBytes { text in
            for line in text.split(separator: UInt8(ascii: "\n")) {
                guard let range = range(UnsafeRawBufferPointer(rebasing: line)) else { continue }
                _ = madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
            }
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f")
    }

    /// The addresses in a line of /proc/self/maps, if it maps a file's code or a file's beginning that nobody writes to; nil
    /// for other lines.
    ///
    /// Only the beginning: later read-only parts may hold data that the loader changed before it made them read-only.
    private static func range(_ line: UnsafeRawBufferPointer) -> Range<UInt>? {
        guard let first = line.first, isDigit(first), line.contains(UInt8(ascii: "/")) else { return nil }
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
        guard fields.count == 6 else { return nil }
        let isBeginning = fields[1].elementsEqual("r--p".utf8) && fields[2].allSatisfy { $0 == UInt8(ascii: "0") }
        guard isBeginning || fields[1].elementsEqual("r-xp".utf8) else { return nil }
        let ends = fields[0].split(separator: UInt8(ascii: "-")).compactMap {
            UInt(String(decoding: $0, as: UTF8.self), radix: 16)
        }
        return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
    }
}
