import CoreDataStore
import Diagnostics

/// Compares values of attributes that allow external storage, whether their bytes are in a column or in a file.
///
/// Memory: 256 KiB while a file is read.
struct VerifiedExternal {
    let source: ExternalFolder
    let destination: ExternalFolder

    struct Problem {
        /// True if the difference counts as one of a file: the destination's file is missing or damaged, or holds other
        /// bytes.
        let isFile: Bool
        let expected: String?
        let found: String?
    }

    struct Outcome {
        let expected: UInt64
        let found: UInt64
        let problem: Problem?
    }

    /// A value, or what is wrong with it.
    private struct Content {
        let hash: UInt64
        let shown: @Sendable () -> String?

        static let null = Content(hash: 0x55) { nil }
        static func missing(_ name: String) -> Content { Content(hash: 0x66) { "no file \(name)" } }
        static func damaged(_ what: String) -> Content { Content(hash: 0x77) { what } }
        static func bytes(count: Int, hash: UInt64) -> Content {
            Content(hash: VerificationChecksum.mix(hash ^ UInt64(truncatingIfNeeded: count))) {
                "\(count.counted("byte")), hash " + String(hash, radix: 16)
            }
        }
    }

    /// Compares two values.
    ///
    /// - Parameter expected: the value as the source's column has it.
    /// - Throws: `external.unreadable` (74, 77).
    func compare(_ expected: VerifiedCell, _ found: VerifiedCell) throws(MigrationError) -> Outcome {
        let (old, new) = (try content(expected, in: source), try content(found, in: destination))
        // A file that is missing in the source cannot exist in the destination.
        guard old.hash != new.hash else { return Outcome(expected: old.hash, found: old.hash, problem: nil) }
        // If the destination's value is in a file, other bytes count as a difference of the file.
        let isFile = if case .blob(let bytes) = found { ExternalReference.isReference(bytes) } else { false }
        return Outcome(
            expected: old.hash, found: new.hash,
            problem: Problem(isFile: isFile, expected: old.shown(), found: new.shown()))
    }

    /// Returns what is wrong with the destination's file of a value; nil if nothing is.
    ///
    /// - Throws: `external.unreadable` (74, 77).
    func problem(_ found: VerifiedCell) throws(MigrationError) -> String? {
        guard case .blob(let bytes) = found, ExternalReference.isReference(bytes) else { return nil }
        guard let reference = ExternalReference(stored: bytes) else { return Self.badReference }
        do throws(MigrationError) {
            return try destination.file(reference) == nil ? "no file \(reference.name)" : nil
        } catch {
            guard error.category == .data else { throw error }
            return error.message
        }
    }

    private static let badReference = "a reference to a file by no name of Core Data's"

    private func content(_ cell: VerifiedCell, in folder: ExternalFolder) throws(MigrationError) -> Content {
        guard case .blob(let bytes) = cell else {
            if case .null = cell { return .null }
            return .bytes(count: -1, hash: cell.hash)
        }
        var sum = StreamedHash()
        guard ExternalReference.isReference(bytes) else {
            sum.add(bytes)
            return .bytes(count: bytes.count, hash: sum.value)
        }
        guard let reference = ExternalReference(stored: bytes) else { return .damaged(Self.badReference) }
        do throws(MigrationError) {
            guard let file = try folder.file(reference) else { return .missing(reference.name) }
            sum.add([ExternalReference.inlineMarker])
            try file.read { part throws(MigrationError) in sum.add(part) }
            return .bytes(count: file.count + 1, hash: sum.value)
        } catch {
            guard error.category == .data else { throw error }
            return .damaged(error.message)
        }
    }
}

/// A hash over bytes that come in parts, independent of how they are divided: FNV-1a, with the bits mixed at the end.
struct StreamedHash {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    var value: UInt64 { VerificationChecksum.mix(state) }
}
