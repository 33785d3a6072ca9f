import PersistentStore

/// The destination's file while it grows: looked at whenever somebody wants to know.
struct GrowingFile {
    /// Where it is built; empty before that is known.
    private let path: String
    private let planned: Int
    private var last = 0
    private var isComplete = false

    init(path: String = "", planned: Int = 0) {
        self.path = path
        self.planned = planned
    }

    /// Its bytes now; as many as at the last look once it has another name.
    var current: Int {
        mutating get {
            if !isComplete, !path.isEmpty, let bytes = try? FileSize.bytes(of: path) { last = max(last, bytes) }
            return last
        }
    }

    /// The bytes it is expected to have, never fewer than it has.
    var expected: Int { isComplete ? last : max(planned, last) }

    /// A file that is complete.
    init(complete bytes: Int) {
        self.init()
        last = bytes
        isComplete = true
    }
}
