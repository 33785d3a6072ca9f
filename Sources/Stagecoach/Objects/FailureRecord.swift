import CCrashNote
import Diagnostics
import Glibc

/// The first failure of a call that cannot throw, made inside a policy's method. It ends the run as soon as the method
/// returns.
final class FailureRecord {
    private var first: (any Error)?
    /// Its text, for the line of a crash that comes before it is thrown.
    private var text: UnsafeMutablePointer<CChar>?

    deinit { forgetText() }

    func record(_ error: any Error) {
        guard first == nil else { return }
        first = error
        text = strdup(Self.text(of: error))
        crash_note_of_thread().pointee.failure = UnsafePointer(text)
    }

    private static func text(of error: any Error) -> String {
        guard let error = error as? MigrationError else { return "\(error)" }
        let place = [error.context.objectID ?? error.context.entity, error.context.property].compactMap { $0 }
        return (place.isEmpty ? "" : place.joined(separator: ".") + ": ") + error.message
            + (error.remedy.map { " (\($0))" } ?? "")
    }

    private func forgetText() {
        guard let text else { return }
        crash_note_of_thread().pointee.failure = nil
        free(text)
        self.text = nil
    }

    /// Throws the recorded failure, once.
    func rethrow() throws {
        guard let error = first else { return }
        first = nil
        forgetText()
        throw error
    }
}
