import Glibc

/// System calls that a signal or a network file system may interrupt.
package enum SystemCall {
    /// Repeats a call until it is not interrupted.
    ///
    /// - Parameter call: returns a count or a descriptor, or -1 with `errno` set.
    /// - Returns: the result of the call; -1 with an `errno` other than EINTR.
    @inline(__always)
    package static func uninterrupted<Number: SignedInteger>(_ call: () -> Number) -> Number {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
