import CCrashNote
import Glibc
import ManagedModel

/// Notes which user code a thread is about to call, so that a crash can name it.
///
/// The note is read by a handler of signals, so it holds C texts. They are made once for a stage of an entity mapping and freed
/// with the run; a call for an object only stores its key.
final class UserCodeNotes {
    private var texts: [String: UnsafeMutablePointer<CChar>] = [:]

    deinit { for text in texts.values { free(text) } }

    /// True if this thread is in user code.
    var isInside: Bool { crash_note_of_thread().pointee.code != nil }

    /// Notes the code that this thread calls next; ``end()`` must be called.
    ///
    /// - Parameters:
    ///   - code: the class, or the function.
    ///   - method: the class's method and its stage; nil for a function.
    ///   - mapping: the entity mapping; nil if the call is for none.
    func begin(_ code: String, _ method: String? = nil, in mapping: PlannedMapping?, entity: EntityDescription? = nil) {
        crash_note_of_thread().pointee = crash_note(
            code: text(code), method: method.flatMap(text), mapping: mapping.flatMap { text($0.name) }, entity: nil,
            key: 0, failure: nil)
        if let entity { enter(entity) }
    }

    /// Notes the entity of the next objects.
    func enter(_ entity: EntityDescription) {
        crash_note_of_thread().pointee.entity = UnsafePointer(text(entity.definition.name))
    }

    /// Notes the key of the object for which this thread calls user code next.
    @inline(__always)
    static func enter(key: Int64) { crash_note_of_thread().pointee.key = key }

    /// Notes that this thread has left user code.
    func end() { crash_note_clear() }

    private func text(_ string: String) -> UnsafePointer<CChar>? {
        if let known = texts[string] { return UnsafePointer(known) }
        let made = strdup(string)
        texts[string] = made
        return UnsafePointer(made)
    }
}
