extension PlatformPart {
    /// The parts, each behind a line `//@ KIND | USES | MESSAGE`, with what ported copies get for it.
    static let text = #"""
        //@ hint | os_log OSLog OSLogType Logger os_signpost | Linux has no unified logging: the ported copies' own writes to standard error


        struct LogMessage: ExpressibleByStringInterpolation {
            struct Option {
                static let `public` = Option(), `private` = Option(), sensitive = Option(), auto = Option(), hash = Option()
                static let begin = Option(), end = Option(), event = Option()
                static let none = Option(), hex = Option(), decimal = Option(), fixed = Option(), answer = Option()
                static func `private`(mask: Option) -> Option { Option() }
                static func sensitive(mask: Option) -> Option { Option() }
                static func auto(mask: Option) -> Option { Option() }
                static func left(columns: Int) -> Option { Option() }
                static func right(columns: Int) -> Option { Option() }
                static func fixed(precision: Int) -> Option { Option() }
            }

            struct StringInterpolation: StringInterpolationProtocol {
                var text = ""
                init(literalCapacity: Int, interpolationCount: Int) {}
                mutating func appendLiteral(_ literal: String) { text += literal }
                mutating func appendInterpolation(
                    _ value: Any?, format: Option = .none, align: Option = .none, privacy: Option = .auto
                ) {
                    text += value.map { "\($0)" } ?? "nil"
                }
            }

            let text: String
            init(stringLiteral value: String) { text = value }
            init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
        }

        struct OSLogType: Sendable {
            static let `default` = OSLogType(), info = OSLogType(), debug = OSLogType(), error = OSLogType(), fault = OSLogType()
        }

        @dynamicMemberLookup
        struct OSLog: Sendable {
            static let `default` = OSLog()
            /// A log that an extension of the app names.
            static subscript(dynamicMember name: String) -> OSLog { OSLog() }
            init(subsystem: String = "", category: String = "") {}
        }

        func os_log(_ message: LogMessage, log: OSLog = .default, type: OSLogType = .default, _ arguments: Any?...) {
            write(message, arguments)
        }

        func os_log(_ type: OSLogType, log: OSLog = .default, _ message: LogMessage, _ arguments: Any?...) {
            write(message, arguments)
        }

        private func write(_ message: LogMessage, _ arguments: [Any?]) {
            let rest = arguments.map { $0.map { " \($0)" } ?? " nil" }.joined()
            FileHandle.standardError.write(Data((message.text + rest + "\n").utf8))
        }

        @dynamicMemberLookup
        struct Logger: Sendable {
            /// A log that an extension of the app names.
            static subscript(dynamicMember name: String) -> Logger { Logger() }
            init(subsystem: String = "", category: String = "") {}
            init(_ log: OSLog) {}
            func log(_ message: LogMessage) { write(message, []) }
            func log(level: OSLogType, _ message: LogMessage) { write(message, []) }
            func trace(_ message: LogMessage) { write(message, []) }
            func debug(_ message: LogMessage) { write(message, []) }
            func info(_ message: LogMessage) { write(message, []) }
            func notice(_ message: LogMessage) { write(message, []) }
            func warning(_ message: LogMessage) { write(message, []) }
            func error(_ message: LogMessage) { write(message, []) }
            func critical(_ message: LogMessage) { write(message, []) }
            func fault(_ message: LogMessage) { write(message, []) }
        }

        func os_signpost(_ type: LogMessage.Option, log: OSLog, name: StaticString, _ arguments: Any?...) {}

        struct OSSignpostID { static let exclusive = OSSignpostID(), invalid = OSSignpostID() }

        //@ hint | CFAbsoluteTime CFAbsoluteTimeGetCurrent CACurrentMediaTime CFTimeInterval | Linux has no clock of Core Foundation: the ported copies' own asks Date

        typealias CFAbsoluteTime = Double
        typealias CFTimeInterval = Double
        func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date.timeIntervalSinceReferenceDate }
        func CACurrentMediaTime() -> CFTimeInterval { ProcessInfo.processInfo.systemUptime }

        //@ - | CLLocationDistance CLLocationDegrees CLLocationSpeed CLLocationDirection CLLocationAccuracy NSInteger NSUInteger OSStatus FourCharCode |

        typealias CLLocationDistance = Double
        typealias CLLocationDegrees = Double
        typealias CLLocationSpeed = Double
        typealias CLLocationDirection = Double
        typealias CLLocationAccuracy = Double
        typealias NSInteger = Int
        typealias NSUInteger = UInt
        typealias OSStatus = Int32
        typealias FourCharCode = UInt32

        //@ manual | .byWords .bySentences | Foundation on Linux has no words and no sentences of texts: split the text at its spaces

        //@ - | privacy: |

        /// Texts for the unified system's log, which the app's own log takes.
        struct LogPrivacy: Sendable {
            static let `public` = Self(), `private` = Self(), sensitive = Self(), auto = Self()
            static func `private`(mask: LogPrivacy) -> Self { Self() }
            static var hash: Self { Self() }
        }

        extension DefaultStringInterpolation {
            mutating func appendInterpolation(_ value: Any?, privacy: LogPrivacy) { appendInterpolation(value ?? "nil") }
        }

        //@ hint | CFString CFData CFDate CFURL CFArray CFDictionary CFNumber | Linux has no Core Foundation: the ported copies name Foundation's types so

        typealias CFString = String
        typealias CFData = Data
        typealias CFDate = Date
        typealias CFURL = URL
        typealias CFArray = NSArray
        typealias CFDictionary = NSDictionary
        typealias CFNumber = NSNumber

        //@ hint | arc4random arc4random_uniform | Linux has no such function: the ported copies' own asks Swift's generator

        func arc4random() -> UInt32 { UInt32.random(in: .min ... .max) }
        func arc4random_uniform(_ bound: UInt32) -> UInt32 { bound == 0 ? 0 : UInt32.random(in: 0..<bound) }

        //@ hint | NSMapTable NSHashTable | Linux has no such table: the ported copies' own holds keys and objects strongly

        final class NSMapTable<Key: NSObject, Object: AnyObject>: NSObject {
            private var objects: [Key: Object] = [:]
            var count: Int { objects.count }
            static func strongToStrongObjects() -> NSMapTable { NSMapTable() }
            static func strongToWeakObjects() -> NSMapTable { NSMapTable() }
            static func weakToStrongObjects() -> NSMapTable { NSMapTable() }
            static func weakToWeakObjects() -> NSMapTable { NSMapTable() }
            func object(forKey key: Key?) -> Object? { key.flatMap { objects[$0] } }
            func setObject(_ object: Object?, forKey key: Key?) { if let key { objects[key] = object } }
            func removeObject(forKey key: Key?) { if let key { objects[key] = nil } }
            func removeAllObjects() { objects = [:] }
            func keyEnumerator() -> NSEnumerator { NSArray(array: Array(objects.keys)).objectEnumerator() }
            func objectEnumerator() -> NSEnumerator? { NSArray(array: Array(objects.values)).objectEnumerator() }
            func dictionaryRepresentation() -> [Key: Object] { objects }
        }

        final class NSHashTable<Object: NSObject>: NSObject {
            private var objects: Set<Object> = []
            var count: Int { objects.count }
            var allObjects: [Object] { Array(objects) }
            var anyObject: Object? { objects.first }
            static func weakObjects() -> NSHashTable { NSHashTable() }
            func add(_ object: Object?) { if let object { objects.insert(object) } }
            func remove(_ object: Object?) { if let object { objects.remove(object) } }
            func contains(_ object: Object?) -> Bool { object.map(objects.contains) ?? false }
            func removeAllObjects() { objects = [] }
        }

        //@ hint | NSErrorPointer AutoreleasingUnsafeMutablePointer | Linux has no error pointers: the ported copies pass plain ones; throw instead

        typealias AutoreleasingUnsafeMutablePointer<Pointee> = UnsafeMutablePointer<Pointee>
        typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

        //@ hint | objc_sync_enter objc_sync_exit | Linux has no locks of objects: the ported copies have one lock for all

        private let objectLock = NSRecursiveLock()
        @discardableResult func objc_sync_enter(_ object: Any) -> Int32 { objectLock.lock(); return 0 }
        @discardableResult func objc_sync_exit(_ object: Any) -> Int32 { objectLock.unlock(); return 0 }

        //@ hint | dispatch_async dispatch_sync dispatch_get_main_queue dispatch_get_global_queue dispatch_queue_create dispatch_semaphore_create dispatch_semaphore_wait dispatch_semaphore_signal | Swift has no such functions any more: the ported copies' own call DispatchQueue

        typealias dispatch_queue_t = DispatchQueue
        let DISPATCH_QUEUE_SERIAL = 0
        let DISPATCH_TIME_FOREVER = DispatchTime.distantFuture
        let QOS_CLASS_BACKGROUND = 0, QOS_CLASS_DEFAULT = 0, QOS_CLASS_UTILITY = 0, QOS_CLASS_USER_INITIATED = 0
        let DISPATCH_QUEUE_PRIORITY_DEFAULT = 0, DISPATCH_QUEUE_PRIORITY_HIGH = 0, DISPATCH_QUEUE_PRIORITY_LOW = 0
        let DISPATCH_QUEUE_PRIORITY_BACKGROUND = 0
        func dispatch_get_main_queue() -> DispatchQueue { .main }
        func dispatch_get_global_queue(_ priority: Int, _ flags: Int) -> DispatchQueue { .global() }
        func dispatch_queue_create(_ label: String, _ attribute: Int?) -> DispatchQueue { DispatchQueue(label: label) }
        func dispatch_async(_ queue: DispatchQueue, _ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }
        func dispatch_sync(_ queue: DispatchQueue, _ block: () -> Void) { queue.sync(execute: block) }
        func dispatch_semaphore_create(_ count: Int) -> DispatchSemaphore { DispatchSemaphore(value: count) }
        func dispatch_semaphore_wait(_ semaphore: DispatchSemaphore, _ time: DispatchTime) { _ = semaphore.wait(timeout: time) }
        func dispatch_semaphore_signal(_ semaphore: DispatchSemaphore) { semaphore.signal() }

        //@ manual | .addObserver(self,forKeyPath: .removeObserver(self,forKeyPath: NSKeyValueChangeKey observeValue | Linux has no key-value observing: call the manager's observe(_:), or set its migrationProgressHandler


        struct NSKeyValueChangeKey: Hashable, Sendable {
            static let newKey = Self(), oldKey = Self(), kindKey = Self(), indexesKey = Self()
        }

        extension NSObject {
            func addObserver(
                _ observer: NSObject, forKeyPath keyPath: String, options: NSKeyValueObservingOptions = [],
                context: UnsafeMutableRawPointer? = nil
            ) {}
            func removeObserver(_ observer: NSObject, forKeyPath keyPath: String, context: UnsafeMutableRawPointer? = nil) {}
        }

        //@ hint | .observe(\ | Linux has no key-value observing: a migration manager tells its own observe(_:) and migrationProgressHandler, other objects tell nothing

        extension NSObject {
            func observe<Root, Value>(
                _ keyPath: KeyPath<Root, Value>, options: NSKeyValueObservingOptions = [],
                changeHandler: @escaping (Root, NSKeyValueObservedChange<Value>) -> Void
            ) -> NSKeyValueObservation { NSKeyValueObservation() }
        }

        //@ manual | .publisher(for: | Linux has no key-value observing: set the manager's migrationProgressHandler

        extension NSMigrationManager {
            func publisher<Value>(for keyPath: KeyPath<NSMigrationManager, Value>, options: Any? = nil) -> Missing {
                stop("publisher(for:)")
            }
        }

        //@ manual | .NSManagedObjectContextObjectsDidChange .NSManagedObjectContextWillSave .NSManagedObjectContextDidSave .didSaveObjectsNotification .didChangeObjectsNotification .willSaveObjectsNotification .NSPersistentStoreRemoteChange .NSPersistentStoreCoordinatorStoresDidChange .NSPersistentStoreCoordinatorStoresWillChange NSManagedObjectContextDidSaveNotification NSManagedObjectContextObjectsDidChangeNotification NSManagedObjectContextWillSaveNotification NSInsertedObjectsKey NSUpdatedObjectsKey NSDeletedObjectsKey NSRefreshedObjectsKey NSInvalidatedAllObjectsKey | No context posts notifications here: progress comes to the manager's migrationProgressHandler, errors are thrown

        let NSManagedObjectContextDidSaveNotification = NSNotification.Name.NSManagedObjectContextDidSave
        let NSManagedObjectContextWillSaveNotification = NSNotification.Name.NSManagedObjectContextWillSave
        let NSManagedObjectContextObjectsDidChangeNotification = NSNotification.Name.NSManagedObjectContextObjectsDidChange

        //@ manual | .addObserver(self,selector: | Linux has no selectors: use addObserver(forName:object:queue:using:); nothing calls the ported copies' observers

        extension NotificationCenter {
            func addObserver(_ observer: Any, selector: String, name: NSNotification.Name?, object: Any?) {}
        }

        //@ manual | .perform( .responds(to: .respondsToSelector( .performSelector( | Linux has no selectors: call the method itself

        extension NSObject {
            func perform(_ selector: String, with object: Any? = nil) -> Missing? { nil }
            func perform(_ selector: String, with object: Any?, afterDelay: TimeInterval) {}
            func responds(to selector: String) -> Bool { false }
        }

        //@ hint | .containerURL( .url(forUbiquityContainerIdentifier .ubiquityIdentityToken | Linux has no app groups and no iCloud: the ported copies' own gives nil

        extension FileManager {
            func containerURL(forSecurityApplicationGroupIdentifier identifier: String) -> URL? { nil }
            func url(forUbiquityContainerIdentifier identifier: String?) -> URL? { nil }
            var ubiquityIdentityToken: NSObject? { nil }
        }

        //@ manual | .documentType .documentAttributes .DocumentType documentAttributes: .foregroundColor .font .backgroundColor .paragraphStyle .underlineStyle .attachment .enumerateAttachments | Linux has no attributes of UIKit for text: keep the text's string, or the archive's bytes

        extension NSAttributedString {
            struct DocumentType: Sendable { static let html = Self(), rtf = Self(), rtfd = Self(), plain = Self() }
            struct DocumentAttributeKey: Hashable, Sendable { static let documentType = Self(), characterEncoding = Self() }
            typealias DocumentReadingOptionKey = DocumentAttributeKey
            func data(from range: NSRange, documentAttributes: [DocumentAttributeKey: Any] = [:]) throws -> Data {
                stop("data(from:documentAttributes:)")
            }
            convenience init(
                data: Data, options: [DocumentReadingOptionKey: Any], documentAttributes: Missing?
            ) throws { stop("NSAttributedString(data:options:documentAttributes:)") }
        }

        extension NSAttributedString.Key {
            static let font = Self("NSFont"), foregroundColor = Self("NSColor"), backgroundColor = Self("NSBackgroundColor")
            static let paragraphStyle = Self("NSParagraphStyle"), underlineStyle = Self("NSUnderline"), link = Self("NSLink")
            static let attachment = Self("NSAttachment"), kern = Self("NSKern"), strikethroughStyle = Self("NSStrikethrough")
        }

        //@ - | NSSet NSArray NSOrderedSet NSMutableSet NSMutableArray NSMutableOrderedSet |

        private func collected(_ elements: [Any], _ key: String) -> [Any] {
            elements.compactMap { element in
                switch element {
                case let object as NSManagedObject: object.value(forKeyPath: key)
                case let dictionary as NSDictionary: dictionary[key]
                default: stop("value(forKey:) of \(type(of: element))")
                }
            }
        }

        extension NSSet {
            /// The values of the elements, as Core Data's systems give them; nil is left out.
            func value(forKey key: String) -> Any { NSSet(array: collected(allObjects, key)) }
            func value(forKeyPath path: String) -> Any? { path == "@count" ? count : value(forKey: path) }
            func setValue(_ value: Any?, forKey key: String) {
                for case let object as NSManagedObject in allObjects { object.setValue(value, forKey: key) }
            }
        }

        extension NSArray {
            func value(forKey key: String) -> Any { NSArray(array: collected(Array(self), key)) }
            func value(forKeyPath path: String) -> Any? { path == "@count" ? count : value(forKey: path) }
            func setValue(_ value: Any?, forKey key: String) {
                for case let object as NSManagedObject in self { object.setValue(value, forKey: key) }
            }
        }

        extension NSOrderedSet {
            func value(forKey key: String) -> Any { NSOrderedSet(array: collected(array, key)) }
            func value(forKeyPath path: String) -> Any? { path == "@count" ? count : value(forKey: path) }
        }

        //@ manual | NSFetchedResultsController NSFetchIndexDescription NSFetchedPropertyDescription NSAtomicStore NSIncrementalStore NSSaveChangesRequest NSPersistentHistoryChangeRequest NSPersistentHistoryToken NSPersistentHistoryTransaction NSPersistentCloudKitContainer NSQueryGenerationToken | Stagecoach has no such class, see "Core Data's migration": fetch objects, and compute with their values

        //@ manual | NSValue(cgAffineTransform NSValue(cgRect NSValue(cgPoint NSValue(cgSize NSValue(uiEdgeInsets NSValue(CGRect NSValue(CGPoint NSValue(CGSize | Linux has no values of geometry: keep the numbers

        extension NSValue {
            convenience init(cgAffineTransform value: Any?) { stop("NSValue(cgAffineTransform:)") }
            convenience init(cgRect value: Any?) { stop("NSValue(cgRect:)") }
            convenience init(cgPoint value: Any?) { stop("NSValue(cgPoint:)") }
            convenience init(cgSize value: Any?) { stop("NSValue(cgSize:)") }
            convenience init(uiEdgeInsets value: Any?) { stop("NSValue(uiEdgeInsets:)") }
            convenience init(CGRect value: Any?) { stop("NSValue(CGRect:)") }
            convenience init(CGPoint value: Any?) { stop("NSValue(CGPoint:)") }
            convenience init(CGSize value: Any?) { stop("NSValue(CGSize:)") }
        }

        //@ hint | .countForFetchRequest( .postNotificationName( .setObject( | The name in older versions of Swift: the ported copies' own calls today's

        extension NSManagedObjectContext {
            func countForFetchRequest<Result>(_ request: NSFetchRequest<Result>, error: UnsafeMutablePointer<NSError?>?) -> Int {
                (try? count(for: request)) ?? NSNotFound
            }
        }

        extension NotificationCenter {
            func postNotificationName(_ name: String, object: Any?, userInfo: [AnyHashable: Any]? = nil) {
                post(name: NSNotification.Name(name), object: object, userInfo: userInfo)
            }
        }

        extension UserDefaults {
            func setObject(_ value: Any?, forKey key: String) { set(value, forKey: key) }
        }

        //@ - | NSLog( |

        /// For objects, which Foundation's on Linux does not take.
        @_disfavoredOverload
        func NSLog(_ format: String, _ arguments: Any?...) {
            let values = arguments.map { value in value as? any CVarArg ?? "\(value ?? "nil")" }
            FileHandle.standardError.write(Data((String(format: format, arguments: values) + "\n").utf8))
        }

        """#
}
