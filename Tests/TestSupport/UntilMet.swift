/// Repeats what another thread or process has to meet in its midst, until it is met: on a busy machine that comes too late
/// now and then.
///
/// - Parameter attempt: true if it was met; false if it was at its end before.
/// - Returns: false if fifty attempts were in vain.
package func untilMet(_ attempt: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<50 where try attempt() { return true }
    return false
}
