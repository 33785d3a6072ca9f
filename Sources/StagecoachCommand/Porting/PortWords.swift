extension PortTable {
    /// The word lists of the command `port`. Each line is a list: its name, then its words. Lines that begin with `#` are comments.
    static let wordsText = #"""
        # Modules of Apple's systems whose import is replaced: Stagecoach has the parts that policies use.
        replacedModules CoreData Foundation UIKit AppKit Cocoa SwiftUI
        # Modules that Swift brings to Linux, and ours.
        presentModules Stagecoach Swift FoundationEssentials FoundationInternationalization FoundationNetworking FoundationXML Dispatch Glibc Musl Synchronization RegexBuilder Observation Distributed XCTest Testing Cxx
        # The types of Foundation's other modules on Linux.
        FoundationNetworking NSURLSession NSURLRequest NSMutableURLRequest NSURLResponse NSHTTPURLResponse URLSession URLSessionTask URLSessionDataTask URLSessionDownloadTask URLSessionUploadTask URLSessionConfiguration URLSessionDelegate URLSessionTaskDelegate URLSessionDataDelegate URLRequest URLResponse HTTPURLResponse URLCache CachedURLResponse HTTPCookie HTTPCookieStorage URLCredential URLCredentialStorage URLProtectionSpace URLAuthenticationChallenge URLProtocol
        FoundationXML NSXMLParser XMLParser XMLParserDelegate XMLDocument XMLElement XMLNode XMLDTD XMLDTDNode
        # Apple's other modules, and beginnings of their names. Any other module is a package's or the app's.
        appleModules os OSLog Combine Security Photos ObjectiveC Darwin Contacts EventKit Intents Accelerate Network Vision Charts TipKit Messages Social Accounts Metal simd CommonCrypto CryptoKit QuartzCore ImageIO WebKit NaturalLanguage SystemConfiguration PassKit ARKit SafariServices LinkPresentation CarPlay Speech SwiftData MusicKit
        applePrefixes Core Cloud Health Map AV Store Game Home Media Quick Uniform User Watch Widget App Background Local Mobile Multipeer PDF Scene Sprite Weather Sensor Device Exposure External File Screen Shazam Sound
        # Words that Swift does not prefix with "With" in the selector of a method when a label begins with them.
        prepositions above after along alongside as at before below by following for from given in including inside into matching of on passing preceding since to until using via when with within
        # Prefixes of Apple's classes: such a class is no managed object, even if nothing but a cast names it.
        classPrefixes NS UI CL HK CK AV PH MK SK CN EK CG CI CA UN WK LA SF
        # Words with a capital letter that are no types.
        typeWords Self Type Protocol
        # Names that only sources for Swift 2 have.
        swift2 valueForKey executeFetchRequest insertNewObjectForEntityForName createDestinationInstancesForSourceInstance createRelationshipsForDestinationInstance beginEntityMapping endInstanceCreationForEntityMapping performCustomValidationForEntityMapping associateSourceInstance destinationInstancesForEntityMappingNamed sourceInstancesForEntityMappingNamed ErrorType NSBundle NSFileManager NSUserDefaults NSDateFormatter NSProcessInfo NSNotificationCenter NSJSONSerialization NSUTF8StringEncoding componentsSeparatedByString stringByReplacingOccurrencesOfString dispatch_async
        # Methods of NSObject that classes override on Apple's systems, and that are not on Linux.
        absentOverrides observeValue keyPathsForValuesAffectingValue automaticallyNotifiesObservers
        # Members of optionals, and those that the parts of PlatformPart add to types.
        partMembers map flatMap some none unsafelyUnwrapped take observe addObserver removeObserver publisher perform responds countForFetchRequest setObject containerURL url ubiquityIdentityToken
        # Words of Swift that are no names without backticks.
        keywords as associatedtype break case catch class continue default defer deinit do else enum extension fallthrough false for func guard if import in init inout internal is let nil operator private protocol public repeat rethrows return self static struct subscript super switch throw throws true try typealias var where while
        # The labels of the initialisers of types that apps like to extend.
        init.UUID from: uuid: uuidString:
        init.Date _:strategy: from: timeInterval:since: timeIntervalSince1970: timeIntervalSinceNow: timeIntervalSinceReferenceDate:
        init.Data _: base64Encoded:options: buffer: bytes: bytes:count: bytesNoCopy:count:deallocator: capacity: contentsOf:options: count: from: referencing: repeating:count:
        init.URL dataRepresentation:relativeTo:isAbsolute: filePath:directoryHint:relativeTo: fileReferenceLiteralResourceName: fileURLWithFileSystemRepresentation:isDirectory:relativeTo: fileURLWithPath: fileURLWithPath:isDirectory: fileURLWithPath:isDirectory:relativeTo: fileURLWithPath:relativeTo: from: string: string:encodingInvalidCharacters: string:relativeTo: template:variables:
        init.NSNumber booleanLiteral: bytes:objCType: coder: floatLiteral: integerLiteral: value:
        # Functions and constants that are seen everywhere, and members of every object.
        globals addObserver observe removeObserver abs acos all arc4random arc4random_uniform asin assert assertionFailure atan atan2 autoreleasepool cbrt ceil cos cosh debugPrint description debugDescription dump errno exit exp exp2 fabs fatalError floor fmax fmin fmod free getenv getpid hash hashValue hypot isEqual isKind isKnownUniquelyReferenced isMember log log10 log2 lround malloc max memcmp memcpy memset min numericCast pow precondition preconditionFailure print putenv random readLine remainder repeatElement round rint sequence setenv sin sinh sleep sqrt srand stderr stdin stdout strcmp stride strlen superclass swap tan tanh time trunc type unsafeBitCast unsafeDowncast usleep withExtendedLifetime withTaskGroup withThrowingTaskGroup withUnsafeBytes withUnsafeMutableBytes withUnsafeMutablePointer withUnsafePointer withCheckedContinuation withCheckedThrowingContinuation withoutActuallyEscaping zip copy mutableCopy responds perform
        # Stagecoach's own types, which are known where a source imports it: elsewhere a MigrationError is the app's.
        own AsynchronousFetchRequest AsynchronousFetchResult AttributeDefinition AttributeType AttributeValue BatchDeleteRequest BatchInsertRequest BatchResult BatchResultType BatchUpdateRequest CancellationFlag ChainPlan ChainStepReport ChainedMigration CheckReport CloudKitMirroring ComparisonPredicate CompoundPredicate ConstraintConflict ContextObjects CustomMigrationStage DeleteRule EntityDefinition EntityDescription EntityMapping EntityMappingType EntityMigrationPolicy ExpressionDescription ExpressionFunctionTable FetchIndexDefinition FetchIndexElement FetchRequest FetchRequestDefinition FetchRequestResult FetchRequestResultType FetchedPropertyDefinition FormatPredicate FurtherObjects InvalidObjects KeyChoice KeyMode KeySortDescriptor LeftBehind LightweightMigrationStage LoadedModel LossHandling ManagedObject ManagedObjectContext ManagedObjectID ManagedObjectModel ManagedObjectModelReference MappingModel MergeConflict MergePolicy Migration MigrationCounts MigrationError MigrationManager MigrationOptions MigrationPlan MigrationReport MigrationStage MigrationStep ModelDefinition ModelLocator ModelVersion NamedValueTransformer NilReferences ObjectExplainer ObjectExplanation ObjectReader OneSidedLinks PassesNoFilter PersistentContainer PersistentHistory PersistentStore PersistentStoreCoordinator PersistentStoreDescription PersistentStoreRequest PersistentStoreResult PolicyRegistry ProfileLine ProgressCounter PropertyMapping RejectReport RejectedObject RelationshipDefinition ResumablePolicy RulesOfTheSource SnapshotEventType SourcePredicate StagedMigrationManager StoreReader StoreVerification StoreVersion StoreWriter StoredObject UnknownHashes UnmappableProperties ValidationPredicate ValidationRule ValueExpression VerificationReport VersionDetours VersionRoute
        # Attributes of Swift, and property wrappers that Linux has.
        presentAttributes MainActor Sendable TaskLocal NSManaged ObservationTracked ObservationIgnored Observable Test Suite
        statements if guard while switch for catch func &
        casesWithValues some success failure keyNotFound valueNotFound typeMismatch dataCorrupted invalidValue
        # Members of number literals: any other is an extension of the app's.
        numberMembers advanced bigEndian byteSwapped description distance encode exponent formatted hash hashValue isFinite isMultiple isNaN isZero littleEndian magnitude negate nonzeroBitCount quotientAndRemainder remainder round rounded sign significand signum squareRoot trailingZeroBitCount ulp words
        # Foundation's and Core Data's classes that several threads must not share.
        unsafeClasses NSDataDetector NSMutableDictionary NSMutableArray NSMutableSet NSMutableOrderedSet NSMutableString NSMutableData NSMutableAttributedString NSCountedSet NSManagedObjectContext NSManagedObjectModel NSMappingModel NSPersistentContainer NSPersistentStoreCoordinator NSMapTable NSHashTable
        """#
}
