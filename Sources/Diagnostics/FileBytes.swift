import Glibc

/// Reads files that users name: models, mapping models and libraries. A call that a signal interrupts is repeated, which
/// Foundation's own readers do not do.
package enum FileBytes {
    /// A system call that failed.
    package struct Failure: Error, CustomStringConvertible {
        /// The error number.
        package let number: Int32

        package init(number: Int32) { self.number = number }

        package var description: String { String(cString: strerror(number)) }
    }

    /// Reads the bytes of a file, up to a largest number.
    ///
    /// - Throws: the failure to open or read it.
    /// - Complexity: O(bytes), in time and memory.
    package static func read(_ path: String, most: Int) throws(Failure) -> [UInt8] {
        let descriptor = try result { open(path, O_RDONLY | O_CLOEXEC) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: min(most, 1 << 16))
        while bytes.count < most {
            let wanted = min(piece.count, most - bytes.count)
            let count = try result { Glibc.read(descriptor, &piece, wanted) }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return bytes
    }

    /// Returns the next line of a stream with its end; nil at the end and after a failure.
    package static func line(of stream: UnsafeMutablePointer<FILE>) -> [UInt8]? {
        var buffer: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(buffer) }
        let count = getline(&buffer, &room, stream)
        return count > 0 ? [UInt8](UnsafeRawBufferPointer(start: buffer, count: count)) : nil
    }

    /// The names in a folder, in no particular order.
    ///
    /// - Throws: the failure to open or read it.
    package static func names(in folder: String) throws(Failure) -> [String] {
        guard let stream = opendir(folder) else { throw Failure(number: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw Failure(number: errno) }
        return names
    }

    /// The status of the file at a path; nil if there is none, or if no file can have such a path.
    ///
    /// - Throws: the failure of the call; the caller then knows nothing about the path.
    package static func status(_ path: String, followsLinks: Bool = true) throws(Failure) -> stat? {
        var status = stat()
        let result = followsLinks ? stat(path, &status) : lstat(path, &status)
        guard result != 0 else { return status }
        guard [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(errno) else { throw Failure(number: errno) }
        return nil
    }

    private static func result<Count: SignedInteger>(_ call: () -> Count) throws(Failure) -> Count {
        let result = SystemCall.uninterrupted(call)
        guard result >= 0 else { throw Failure(number: errno) }
        return result
    }
}
