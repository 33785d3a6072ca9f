import Archives
import Foundation
import Synchronization

/// Foundation's class of this name, not on Linux: it turns the objects of transformable attributes into data, and back.
///
/// As in Core Data, ``transformedValue(_:)`` makes the data that is stored, and ``reverseTransformedValue(_:)`` the object of it.
/// In ``NSSecureUnarchiveFromDataTransformer`` and its subclasses it is the other way round. Where two threads call a policy,
/// they call its transformers too.
open class ValueTransformer: NSObject, NamedValueTransformer {
    public override init() {}

    /// The class of the result of ``transformedValue(_:)``. It is not asked for here.
    open class func transformedValueClass() -> AnyClass { NSObject.self }
    /// Tells whether there is a way back. It is not asked for here.
    open class func allowsReverseTransformation() -> Bool { true }
    /// Returns the transformed value; nil where it cannot be made.
    open func transformedValue(_ value: Any?) -> Any? { nil }
    /// Returns the value whose transformation a value is; nil where it cannot be made.
    open func reverseTransformedValue(_ value: Any?) -> Any? { nil }

    /// A transformer, which serves all threads.
    private struct Registered: @unchecked Sendable {
        let transformer: ValueTransformer
    }

    private static let registered = Mutex<[String: Registered]>([:])

    /// Registers a transformer for the attributes whose model names it; nil removes the one that was registered.
    public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
        let entry = transformer.map(Registered.init(transformer:))
        registered.withLock { $0[name.rawValue] = entry }
    }

    /// The names of all registered transformers, sorted.
    public class func valueTransformerNames() -> [NSValueTransformerName] {
        registered.withLock { $0.keys.sorted() }.map(NSValueTransformerName.init(rawValue:))
    }

    static func named(_ name: String) -> ValueTransformer? { registered.withLock { $0[name] }?.transformer }
}

/// A transformer that is found by its name.
public protocol NamedValueTransformer {}

extension NamedValueTransformer where Self: ValueTransformer {
    /// Returns the registered transformer; nil if there is none of this class.
    public init?(forName name: NSValueTransformerName) {
        guard let found = ValueTransformer.named(name.rawValue) as? Self else { return nil }
        self = found
    }
}

/// The name of a ``ValueTransformer``.
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
    /// The name.
    public let rawValue: String
    /// Makes a name of a text.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Makes a name of a text.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Keyed archives of plain values. It needs no registration.
    public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName("NSSecureUnarchiveFromData")
    /// Keyed archives. It needs no registration.
    public static let keyedUnarchiveFromDataTransformerName = NSValueTransformerName("NSKeyedUnarchiveFromData")
    /// Archives. It needs no registration.
    public static let unarchiveFromDataTransformerName = NSValueTransformerName("NSUnarchiveFromData")
}

/// The transformer of keyed archives of plain values: texts, numbers, dates, data, UUIDs, URLs, null, and collections of them.
/// Apps register subclasses of it under names of their own.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
    /// The classes at the top of an archive. All plain values are read here, whatever it says.
    open class var allowedTopLevelClasses: [AnyClass] {
        [
            NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
            NSURL.self, NSUUID.self, NSNull.self,
        ]
    }

    /// Returns the object in an archive; nil if it cannot be read.
    open override func transformedValue(_ value: Any?) -> Any? {
        guard let data = value as? Data else { return nil }
        return try? ObjectArchive.object(from: Array(data))
    }

    /// Returns the archive of an object; nil if it cannot be archived.
    open override func reverseTransformedValue(_ value: Any?) -> Any? {
        guard let value else { return nil }
        return (try? ObjectArchive.bytes(of: value)).map { Data($0) }
    }
}
