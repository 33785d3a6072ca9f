import Glibc

/// Calls of the system that a signal, or a file system over a network, may interrupt.
package enum SystemCall {
    /// Makes a call again until it is not interrupted.
    ///
    /// - Parameter call: gives a count or a descriptor, or -1 with `errno` set.
    /// - Returns: what the call gave; -1 with an `errno` that is not EINTR.
    @inline(__always)
    package static func uninterrupted<Number: SignedInteger>(_ call: () -> Number) -> Number {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
