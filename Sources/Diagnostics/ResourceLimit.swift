import Glibc

/// The limits that a shell or a batch system sets for a process: `ulimit`, `prlimit`.
package enum ResourceLimit {
    /// Returns the limit that applies now, in the resource's unit; nil if there is none.
    ///
    /// - Parameter resource: `RLIMIT_AS`, `RLIMIT_FSIZE` and the like.
    package static func current(_ resource: __rlimit_resource) -> Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur == rlim_t.max ? nil : Int(clamping: limit.rlim_cur)
    }
}
