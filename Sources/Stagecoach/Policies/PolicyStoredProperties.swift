/// Tells whether objects of a class have stored properties beyond those of a base class.
///
/// A class's metadata contain the size of its objects. The position of the size is checked once, with classes that
/// store one property and none. If the check fails, every class counts as one with state.
enum PolicyStoredProperties {
    /// Tells whether a policy has no stored property, in its class or in any other below ``EntityMigrationPolicy``.
    static func isAbsent(in policy: EntityMigrationPolicy) -> Bool {
        isReadable && size(of: type(of: policy)) == size(of: EntityMigrationPolicy.self)
    }

    /// Tells whether a manager has no stored property beyond those of ``MigrationManager``.
    static func isAbsent(in manager: MigrationManager) -> Bool {
        type(of: manager) == MigrationManager.self
            || isReadable && size(of: type(of: manager)) == size(of: MigrationManager.self)
    }

    /// Returns the size of an object in bytes. The layout is a part of Swift's stable ABI: the size is 24 bytes after
    /// the class's address.
    private static func size(of type: AnyClass) -> UInt32 {
        unsafeBitCast(type, to: UnsafeRawPointer.self).load(fromByteOffset: 24, as: UInt32.self)
    }

    private static let isReadable: Bool = {
        let base = size(of: EntityMigrationPolicy.self)
        return base >= 16 && base < 4096 && size(of: PlainProbe.self) == base && size(of: DeepProbe.self) == base
            && size(of: FlagProbe.self) > base && size(of: FlagProbe.self) <= base + 8
            && size(of: WordProbe.self) == (base + 7) / 8 * 8 + 8
    }()
}

private class PlainProbe: EntityMigrationPolicy {}
private final class DeepProbe: PlainProbe {}
private final class FlagProbe: PlainProbe { var flag = false }
private final class WordProbe: PlainProbe { var word = 0 }
