/// The size of the destination's file while it grows; the file is measured at each read.
struct GrowingFile {
    /// The path where the file is built; empty before that is known.
    private let path: String
    private let planned: Int
    private var last = 0
    private var isComplete = false

    init(path: String = "", planned: Int = 0) {
        self.path = path
        self.planned = planned
    }

    /// The file's size in bytes. Once the file has been renamed, the size at the last look.
    var current: Int {
        mutating get {
            if !isComplete, !path.isEmpty, let bytes = try? DestinationPath.size(of: path) { last = max(last, bytes) }
            return last
        }
    }

    /// The size that the file is expected to have in the end, in bytes; never less than its size now.
    var expected: Int { isComplete ? last : max(planned, last) }

    /// Creates the size of a file that is complete.
    init(complete bytes: Int) {
        self.init()
        last = bytes
        isComplete = true
    }
}
