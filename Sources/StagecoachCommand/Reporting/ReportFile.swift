import Diagnostics
import Foundation

/// The file of a report. It appears with its whole content or not at all. It never replaces another file, except the report of
/// a run that did not succeed.
enum ReportFile {
    /// A mark in the first bytes of a report of an unfinished run, in every format.
    static let unfinishedMark = "stagecoach-unfinished-run"
    /// The number of first bytes in which the mark is searched.
    private static let head = 64 << 10
    /// Linux's `O_TMPFILE` without its `O_DIRECTORY`, whose value differs between processors.
    private static let unnamed: Int32 = 0o20000000 | O_DIRECTORY

    /// Refuses a path where no report can be made. Makes nothing.
    ///
    /// - Parameter mark: the mark in the first bytes of a file that may be replaced.
    static func check(_ path: String, replacing mark: String = unfinishedMark) throws(MigrationError) {
        if has(mark, path) { return }
        try OutputFile.check(path)
    }

    /// Tells whether the file is a report that may be replaced: that of a run that did not succeed, or of the same batch.
    private static func has(_ mark: String, _ path: String) -> Bool {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        var bytes = [UInt8](repeating: 0, count: head)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return false }
        return String(decoding: bytes.prefix(count), as: UTF8.self).contains(mark)
    }

    /// - Parameters:
    ///   - permissions: the permissions of the file, less those of the process's umask; nil for a file without values of a
    ///     store, which everybody may read.
    ///   - mark: the mark in the first bytes of a file that may be replaced.
    static func write(
        _ path: String, _ content: String, permissions: FilePermissions? = .own,
        replacing mark: String = unfinishedMark
    ) throws(MigrationError) {
        let mode = permissions?.file ?? 0o644
        let folder = PathIdentity.folder(of: path)
        let part = "\(folder)/.\(PathIdentity.name(of: path)).stagecoach-part"
        // A file without a name leaves nothing behind if the process is killed.
        var descriptor = SystemCall.uninterrupted { open(folder, O_WRONLY | O_CLOEXEC | unnamed, mode) }
        let hasName = descriptor < 0
        if hasName {
            unlink(part)
            descriptor = SystemCall.uninterrupted {
                open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
            }
        }
        guard descriptor >= 0 else { throw OutputFile.creationFailure(errno, path) }
        defer { close(descriptor) }
        do throws(MigrationError) {
            let sink = DescriptorSink(descriptor)
            sink.write(content)
            let failure = sink.synchronize()
            guard failure == 0 else { throw OutputFile.writingFailure(failure, path) }
            try place(hasName ? nil : descriptor, part: part, path: path, replacing: mark)
        } catch {
            if hasName { unlink(part) }
            throw error
        }
    }

    /// Gives the written file its name.
    private static func place(
        _ descriptor: Int32?, part: String, path: String, replacing mark: String
    ) throws(MigrationError) {
        func link(to target: String) -> Int32 {
            guard let descriptor else { return linkat(AT_FDCWD, part, AT_FDCWD, target, 0) }
            return linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, target, AT_SYMLINK_FOLLOW)
        }
        if link(to: path) == 0 {
            if descriptor == nil { unlink(part) }
            return
        }
        let reason = errno
        let replaces = reason == EEXIST && has(mark, path)
        // On a file system without hard links, only an unused name is taken.
        let isWithoutLinks: Bool
        do throws(FileBytes.Failure) {
            isWithoutLinks =
                descriptor == nil && reason != EEXIST ? try FileBytes.status(path, followsLinks: false) == nil : false
        } catch {
            throw OutputFile.creationFailure(error.number, path)
        }
        guard replaces || isWithoutLinks else { throw OutputFile.creationFailure(reason, path) }
        if descriptor != nil {
            unlink(part)
            guard link(to: part) == 0 else { throw OutputFile.creationFailure(errno, path) }
        }
        guard rename(part, path) == 0 else {
            let reason = errno
            unlink(part)
            throw OutputFile.creationFailure(reason, path)
        }
    }
}
