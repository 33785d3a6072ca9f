/// Time and bytes used by one stage, for one entity mapping if the stage works on a single one.
public struct ProfileLine: Sendable, Codable, Equatable {
    /// The phase's name: `keys`, `create`, `relate`, `validate`, `load`, `indexes`, `publish`; `opening` before them.
    public var stage: String
    /// The entity mappings at work, separated by commas, or the name of a join table; empty if the stage works on all.
    public var subject: String
    /// Wall time in seconds.
    public var seconds = 0.0
    /// Processor time in seconds.
    public var processorSeconds = 0.0
    /// Bytes that the process read from files, including reads from the system's cache; 0 if the system does not tell.
    public var bytesRead = 0
    /// Bytes that the process wrote to files.
    public var bytesWritten = 0
    /// The part of the written bytes that went to spill files and association tables.
    public var spilledBytes = 0

    /// Returns the sum of a profile's lines.
    public static func sum(_ lines: [ProfileLine]) -> ProfileLine {
        var whole = ProfileLine(stage: "in all", subject: "")
        for line in lines { whole.add(line) }
        return whole
    }

    /// Adds the figures of another line, less those of a third.
    mutating func add(_ other: ProfileLine, since first: ProfileLine = ProfileLine(stage: "", subject: "")) {
        seconds += other.seconds - first.seconds
        processorSeconds += other.processorSeconds - first.processorSeconds
        bytesRead += other.bytesRead - first.bytesRead
        bytesWritten += other.bytesWritten - first.bytesWritten
        spilledBytes += other.spilledBytes - first.spilledBytes
    }
}
