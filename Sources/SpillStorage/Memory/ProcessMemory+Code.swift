import Glibc

extension ProcessMemory {
    /// Gives back the program's and its libraries' code that is in memory; what runs next is mapped again from the page
    /// cache, in pieces of 64 KiB.
    ///
    /// Reading arguments, models and mapping models touches 20 MiB of code that copying rows never runs.
    ///
    /// - Complexity: about a millisecond.
    package static func releaseCode() {
        guard let file = fopen("/proc/self/smaps", "re") else { return }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 8192)
        var code: Range<UInt>?
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let fields = text.split(separator: " ", maxSplits: 5)
            if fields.count == 6, fields[1].count == 4 {
                let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                let isCode = fields[1] == "r-xp" && fields[5].drop { $0 == " " }.first == "/"
                code = isCode && ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
            } else if let range = code, fields.first == "Anonymous:" {
                // Pages that a debugger has written to are no file's any more.
                if fields.count > 1, fields[1] == "0" {
                    _ = madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
                }
                code = nil
            }
        }
    }
}
