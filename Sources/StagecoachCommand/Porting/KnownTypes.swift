/// The names of types that need no stub: Swift's and Foundation's on Linux, and Stagecoach's.
enum KnownTypes {
    static let names: Set<String> = Set((system + " " + own).split(whereSeparator: \.isWhitespace).map(String.init))

    /// The types of Swift 6.3 and its Foundation on Linux.
    private static let system = """
        Actor AdditiveArithmetic AffineTransform AlignmentOptions Any AnyActor AnyBidirectionalCollection AnyClass
        AnyCollection AnyHashable AnyIndex AnyIterator AnyKeyPath AnyObject AnyRandomAccessCollection AnyRegexOutput
        AnySequence Array ArraySlice AsyncIteratorProtocol AsyncStream AsyncThrowingStream AttributeContainer
        AttributeDynamicLookup AttributeScope AttributeScopeCodableConfiguration AttributeScopes AttributedString
        AttributedStringAttributeMutation AttributedStringKey AttributedStringProtocol AttributedSubstring
        BidirectionalCollection BinaryFloatingPoint BinaryInteger BitwiseCopyable BlockOperation Bool
        BooleanLiteralType Bundle ByteCountFormatter CBool CChar CChar16 CChar32 CChar8 CDouble CFloat CFloat16
        CGFloat CGPoint CGRect CGRectEdge CGSize CInt CLong CLongDouble CLongLong CShort CSignedChar CUnsignedChar
        CUnsignedInt CUnsignedLong CUnsignedLongLong CUnsignedShort CVaListPointer CVarArg CWideChar Calendar
        CancellationError CaseIterable Character CharacterSet CheckedContinuation Clock ClosedRange ClosedRangeIndex
        CocoaError Codable CodableAttributedStringKey CodableConfiguration CodableWithConfiguration CodingKey
        CodingKeyRepresentable CodingUserInfoKey Collection CollectionDifference CollectionOfOne CommandLine
        Comparable ComparableComparator Comparator ComparisonResult ConcurrentValue ContiguousArray ContiguousBytes
        ContinuousClock Copyable CountableClosedRange CountablePartialRangeFrom CountableRange
        CustomConsumingRegexComponent CustomDebugStringConvertible CustomLeafReflectable CustomNSError
        CustomPlaygroundQuickLookable CustomReflectable CustomStringConvertible Data DataProtocol Date DateComponents
        DateFormatter DateInterval DateIntervalFormatter Decimal Decodable DecodableAttributedStringKey
        DecodableWithConfiguration Decoder DecodingConfigurationProviding DecodingError DefaultStringInterpolation
        Dictionary DictionaryIndex DictionaryIterator DictionaryLiteral Dimension DiscardingTaskGroup
        DiscontiguousAttributedSubstring DiscreteFormatStyle DispatchData DispatchDataIterator DispatchGroup
        DispatchIO DispatchObject DispatchPredicate DispatchQoS DispatchQueue DispatchSemaphore DispatchSource
        DispatchSourceHandler DispatchSourceProtocol DispatchSourceRead DispatchSourceSignal DispatchSourceTimer
        DispatchSourceUserDataAdd DispatchSourceUserDataOr DispatchSourceUserDataReplace DispatchSourceWrite
        DispatchSpecificKey DispatchTime DispatchTimeInterval DispatchTimeoutResult DispatchWallTime DispatchWorkItem
        DispatchWorkItemFlags Double Duration DurationProtocol EmptyCollection EmptyIterator Encodable
        EncodableAttributedStringKey EncodableWithConfiguration Encoder EncodingConfigurationProviding EncodingError
        EnergyFormatter EnumeratedIterator EnumeratedSequence Equatable Error Escapable Executor ExecutorJob
        ExpressibleByArrayLiteral ExpressibleByBooleanLiteral ExpressibleByDictionaryLiteral
        ExpressibleByExtendedGraphemeClusterLiteral ExpressibleByFloatLiteral ExpressibleByIntegerLiteral
        ExpressibleByNilLiteral ExpressibleByStringInterpolation ExpressibleByStringLiteral
        ExpressibleByUnicodeScalarLiteral Expression ExtendedGraphemeClusterType FileAttributeKey FileAttributeType
        FileHandle FileManager FileManagerDelegate FileProtectionType FixedWidthInteger Float Float16 Float32 Float64
        Float80 FloatLiteralType FloatingPoint FloatingPointClassification FloatingPointRoundingRule FloatingPointSign
        FormatStyle Formatter Glibc GlobalActor HTTPURLResponse Hashable Hasher Host ISO8601DateFormatter Identifiable
        IndexPath IndexSet IndexableBase IndexingIterator InflectionRule InlineArray InputStream InstantProtocol Int
        Int128 Int16 Int32 Int64 Int8 IntegerLiteralType IteratorOverOne IteratorProtocol IteratorSequence JSONDecoder
        JSONEncoder JSONSerialization Job JobPriority JoinedIterator JoinedSequence KeyPath KeyValuePairs
        KeyedDecodingContainer KeyedDecodingContainerProtocol KeyedEncodingContainer KeyedEncodingContainerProtocol
        LengthFormatter Locale LocalizedError LosslessStringConvertible MainActor ManagedBuffer ManagedBufferPointer
        MarkdownDecodableAttributedStringKey MassFormatter Measurement MemoryLayout Mirror MirrorPath Morphology
        MutableCollection MutableDataProtocol MutableRawSpan MutableSpan NSAffineTransform NSAffineTransformStruct
        NSArray NSAttributedString NSBinarySearchingOptions NSCache NSCacheDelegate NSCalendar NSCharacterSet NSCoder
        NSCoding NSComparisonPredicate NSCompoundPredicate NSCondition NSConditionLock NSCopying NSCountedSet NSData
        NSDate NSDateComponents NSDateInterval NSDecimalNumber NSDecimalNumberBehaviors NSDecimalNumberHandler
        NSDictionary NSEdgeInsets NSEnumerationOptions NSEnumerator NSError NSErrorDomain NSExceptionName NSExpression
        NSIndexPath NSIndexSet NSIndexSetIterator NSKeyedArchiver NSKeyedArchiverDelegate NSKeyedUnarchiver
        NSKeyedUnarchiverDelegate NSLocale NSLock NSLocking NSMeasurement NSMutableArray NSMutableAttributedString
        NSMutableCharacterSet NSMutableCopying NSMutableData NSMutableDictionary NSMutableIndexSet NSMutableOrderedSet
        NSMutableSet NSMutableString NSNotification NSNull NSNumber NSObject NSObjectProtocol NSOrderedSet
        NSOrthography NSPersonNameComponents NSPoint NSPointArray NSPredicate NSRange NSRangePointer NSRect
        NSRectArray NSRectEdge NSRecursiveLock NSRegularExpression NSSecureCoding NSSet NSSize NSSizeArray
        NSSortDescriptor NSSortOptions NSString NSTextCheckingKey NSTextCheckingResult NSTimeZone NSURL
        NSURLComponents NSURLQueryItem NSUUID NSValue NSZone Never Notification NotificationCenter NotificationQueue
        NumberFormatter Numeric ObjCBool ObjectIdentifier OpaquePointer OperatingSystemVersion Operation
        OperationQueue OptionSet Optional OutputRawSpan OutputSpan OutputStream POSIXError ParseStrategy
        ParseableFormatStyle PartialAsyncTask PartialKeyPath PartialRangeFrom PartialRangeThrough PartialRangeUpTo
        PersonNameComponents PersonNameComponentsFormatter Pipe PlaygroundQuickLook Port PortDelegate PortMessage
        Predicate PredicateBindings PredicateError PredicateExpression PredicateExpressions Process ProcessInfo
        Progress ProgressKind ProgressReporting ProgressUserInfoKey PropertyListDecoder PropertyListEncoder
        PropertyListSerialization Protocol QualityOfService RandomAccessCollection RandomNumberGenerator Range
        RangeExpression RangeReplaceableCollection RangeSet RawRepresentable RawSpan RecoverableError
        ReferenceConvertible ReferenceWritableKeyPath Regex RegexComponent RegexRepetitionBehavior RegexSemanticLevel
        RegexWordBoundaryKind Repeated Result ReversedCollection ReversedIndex ReversedRandomAccessCollection RunLoop
        SIMD SIMD16 SIMD2 SIMD3 SIMD32 SIMD4 SIMD64 SIMD8 SIMDMask SIMDScalar SIMDStorage Scanner
        ScopedAttributeContainer Self Sendable SendableMetatype Sequence SerialExecutor Set SetAlgebra SetIndex
        SetIterator SignedInteger SignedNumeric SingleValueDecodingContainer SingleValueEncodingContainer
        SocketNativeHandle SocketPort SortComparator SortOrder Span StandardPredicateExpression StaticBigInt
        StaticString Stream StreamDelegate StreamNetworkServiceTypeValue StreamSOCKSProxyConfiguration
        StreamSOCKSProxyVersion StreamSocketSecurityLevel StrideThrough StrideThroughIterator StrideTo
        StrideToIterator Strideable String StringInterpolationProtocol StringLiteralType StringProtocol
        StringTransform Substring SuspendingClock SystemRandomNumberGenerator Task TaskExecutor TaskGroup TaskLocal
        TaskPriority TextOutputStream TextOutputStreamable Thread ThrowingDiscardingTaskGroup ThrowingTaskGroup
        TimeInterval TimeZone Timer Type UInt UInt128 UInt16 UInt32 UInt64 UInt8 URL URLComponents URLError
        URLFileResourceType URLQueryItem URLRequest URLResourceKey URLResourceValues URLResponse URLSession UTF16
        UTF32 UTF8 UTF8Span UUID UnboundedRange UnboundedRange_ Unicode UnicodeCodec UnicodeDecodingResult
        UnicodeScalar UnicodeScalarType Unit UnitAcceleration UnitAngle UnitArea UnitConcentrationMass UnitConverter
        UnitConverterLinear UnitDispersion UnitDuration UnitElectricCharge UnitElectricCurrent
        UnitElectricPotentialDifference UnitElectricResistance UnitEnergy UnitFrequency UnitFuelEfficiency
        UnitIlluminance UnitInformationStorage UnitLength UnitMass UnitPower UnitPressure UnitSpeed UnitTemperature
        UnitVolume UnkeyedDecodingContainer UnkeyedEncodingContainer Unmanaged UnownedJob UnownedSerialExecutor
        UnownedTaskExecutor UnsafeBufferPointer UnsafeBufferPointerIterator UnsafeConcurrentValue UnsafeContinuation
        UnsafeCurrentTask UnsafeMutableBufferPointer UnsafeMutablePointer UnsafeMutableRawBufferPointer
        UnsafeMutableRawBufferPointerIterator UnsafeMutableRawPointer UnsafePointer UnsafeRawBufferPointer
        UnsafeRawBufferPointerIterator UnsafeRawPointer UnsafeSendable UnsafeThrowingContinuation UnsignedInteger
        UserDefaults Void WritableKeyPath XMLParser Zip2Iterator Zip2Sequence
        """

    /// Core Data's and Stagecoach's public types: a stub of one that Stagecoach lacks would only hide that.
    private static let own = """
        NSMergePolicy NSMergePolicyType NSMergeConflict NSPersistentContainer NSPersistentStoreDescription
        NSPersistentStoreRequest NSPersistentStoreResult NSBatchDeleteRequest NSBatchDeleteResult NSBatchInsertRequest
        NSBatchInsertResult NSBatchUpdateRequest NSBatchUpdateResult NSFetchIndexDescription NSFetchedPropertyDescription
        NSExpressionDescription NSDerivedAttributeDescription NSCompositeAttributeDescription NSAtomicStore
        NSIncrementalStore NSSaveChangesRequest NSAsynchronousFetchRequest NSManagedObjectContextConcurrencyType
        NSFetchedResultsController ValueTransformer NSValueTransformerName NSSecureUnarchiveFromDataTransformer
        AttributeDefinition AttributeDescription AttributeType AttributeValue CancellationFlag ChainPlan
        ChainStepReport ChainedMigration CheckReport CloudKitMirroring ComparisonPredicate CompoundPredicate
        ContextObjects CustomMigrationStage DeleteRule EntityDefinition EntityDescription EntityMapping
        EntityMappingType EntityMigrationPolicy ExpressionFunctionTable FetchIndexDefinition FetchIndexElement
        FetchRequest FetchRequestDefinition FetchRequestResult FetchRequestResultType FetchedPropertyDefinition
        FormatPredicate FurtherObjects InvalidObjects KeyChoice KeyMode KeySortDescriptor LeftBehind
        LightweightMigrationStage LoadedModel LossHandling ManagedObject ManagedObjectContext ManagedObjectID
        ManagedObjectModel ManagedObjectModelReference MappingModel Migration MigrationCounts MigrationError
        MigrationManager MigrationOptions MigrationPlan MigrationReport MigrationStage MigrationStep ModelDefinition
        ModelLocator ModelVersion NSAttributeDescription NSAttributeType NSComparisonPredicate NSCompoundPredicate
        NSCustomMigrationStage NSDeleteRule NSEntityDescription NSEntityMapping NSEntityMappingType
        NSEntityMigrationPolicy NSExpression NSFetchRequest NSFetchRequestResult NSFetchRequestResultType
        NSLightweightMigrationStage NSManagedObject NSManagedObjectContext NSManagedObjectID NSManagedObjectModel
        NSManagedObjectModelReference NSMappingModel NSMigrationManager NSMigrationStage NSPersistentStore
        NSPersistentStoreCoordinator NSPredicate NSPropertyDescription NSPropertyMapping NSRelationshipDescription
        NSSortDescriptor NSStagedMigrationManager NilReferences OneSidedLinks PersistentHistory PersistentStore
        PersistentStoreCoordinator PolicyRegistry ProfileLine ProgressCounter PropertyDescription
        PropertyMapping RejectReport RejectedObject RelationshipDefinition RelationshipDescription ResumablePolicy
        RulesOfTheSource SourcePredicate StagedMigrationManager StoreReader StoreVerification StoreVersion StoreWriter
        UnknownHashes UnmappableProperties ValidationPredicate ValidationRule ValueExpression VerificationReport
        VersionDetours VersionRoute
        """
}
