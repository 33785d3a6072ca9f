extension PortTable {
    /// The types of Swift 6.3 and of its Foundation on Linux, and Core Data's that Stagecoach has.
    static let knownTypesText = #"""
        Actor AdditiveArithmetic AffineTransform AlignmentOptions Any AnyBidirectionalCollection AnyClass AnyCollection
        AnyHashable AnyIndex AnyIterator AnyKeyPath AnyObject AnyRandomAccessCollection AnyRegexOutput AnySequence Array
        ArraySlice AsyncCompactMapSequence AsyncDropFirstSequence AsyncDropWhileSequence AsyncFilterSequence
        AsyncFlatMapSequence AsyncIteratorProtocol AsyncMapSequence AsyncPrefixSequence AsyncPrefixWhileSequence
        AsyncSequence AsyncStream AsyncThrowingCompactMapSequence AsyncThrowingDropWhileSequence
        AsyncThrowingFilterSequence AsyncThrowingFlatMapSequence AsyncThrowingMapSequence
        AsyncThrowingPrefixWhileSequence AsyncThrowingStream AttributeContainer AttributeDynamicLookup AttributeScope
        AttributeScopeCodableConfiguration AttributeScopes AttributedString AttributedStringAttributeMutation
        AttributedStringKey AttributedStringProtocol AttributedSubstring BidirectionalCollection BinaryFloatingPoint
        BinaryInteger BitwiseCopyable BlockOperation Bool BooleanLiteralType Bundle ByteCountFormatter CBool CChar
        CChar16 CChar32 CChar8 CDouble CFloat CFloat16 CGFloat CGPoint CGRect CGRectEdge CGSize CInt CLong CLongDouble
        CLongLong CShort CSignedChar CUnsignedChar CUnsignedInt CUnsignedLong CUnsignedLongLong CUnsignedShort
        CVaListPointer CVarArg CWideChar Calendar CancellationError CaseIterable Character CharacterSet
        CheckedContinuation Clock ClosedRange CocoaError Codable CodableAttributedStringKey CodableConfiguration
        CodableWithConfiguration CodingKey CodingKeyRepresentable CodingUserInfoKey Collection CollectionDifference
        CollectionOfOne CommandLine Comparable ComparableComparator Comparator ComparisonResult ContiguousArray
        ContiguousBytes ContinuousClock Copyable CountableClosedRange CountablePartialRangeFrom CountableRange
        CustomConsumingRegexComponent CustomDebugStringConvertible CustomLeafReflectable CustomNSError CustomReflectable
        CustomStringConvertible Data DataProtocol Date DateComponents DateFormatter DateInterval DateIntervalFormatter
        Decimal Decodable DecodableAttributedStringKey DecodableWithConfiguration Decoder DecodingConfigurationProviding
        DecodingError DefaultIndices DefaultStringInterpolation Dictionary DictionaryIndex DictionaryIterator
        DictionaryLiteral Dimension DiscardingTaskGroup DiscontiguousAttributedSubstring DiscreteFormatStyle
        DispatchData DispatchDataIterator DispatchGroup DispatchIO DispatchObject DispatchPredicate DispatchQoS
        DispatchQueue DispatchSemaphore DispatchSource DispatchSourceHandler DispatchSourceProtocol DispatchSourceRead
        DispatchSourceSignal DispatchSourceTimer DispatchSourceUserDataAdd DispatchSourceUserDataOr
        DispatchSourceUserDataReplace DispatchSourceWrite DispatchSpecificKey DispatchTime DispatchTimeInterval
        DispatchTimeoutResult DispatchWallTime DispatchWorkItem DispatchWorkItemFlags Double DropFirstSequence
        DropWhileSequence Duration DurationProtocol EmptyCollection Encodable EncodableAttributedStringKey
        EncodableWithConfiguration Encoder EncodingConfigurationProviding EncodingError EnergyFormatter
        EnumeratedIterator EnumeratedSequence Equatable Error Escapable Executor ExecutorJob ExpressibleByArrayLiteral
        ExpressibleByBooleanLiteral ExpressibleByDictionaryLiteral ExpressibleByExtendedGraphemeClusterLiteral
        ExpressibleByFloatLiteral ExpressibleByIntegerLiteral ExpressibleByNilLiteral ExpressibleByStringInterpolation
        ExpressibleByStringLiteral ExpressibleByUnicodeScalarLiteral Expression ExtendedGraphemeClusterType
        FileAttributeKey FileAttributeType FileHandle FileManager FileManagerDelegate FileProtectionType
        FixedWidthInteger FlattenSequence Float Float16 Float32 Float64 Float80 FloatLiteralType FloatingPoint
        FloatingPointClassification FloatingPointRoundingRule FloatingPointSign FormatStyle Formatter GlobalActor
        Hashable Hasher Host ISO8601DateFormatter Identifiable IndexPath IndexSet IndexingIterator InflectionRule
        InlineArray InputStream InstantProtocol Int Int128 Int16 Int32 Int64 Int8 IntegerLiteralType IteratorProtocol
        IteratorSequence JSONDecoder JSONEncoder JSONSerialization Job JobPriority JoinedSequence KeyPath KeyValuePairs
        KeyedDecodingContainer KeyedDecodingContainerProtocol KeyedEncodingContainer KeyedEncodingContainerProtocol
        LazyCollection LazyCollectionProtocol LazyDropWhileCollection LazyDropWhileSequence LazyFilterCollection
        LazyFilterSequence LazyMapCollection LazyMapSequence LazyPrefixWhileCollection LazyPrefixWhileSequence
        LazySequence LazySequenceProtocol LengthFormatter Locale LocalizedError LosslessStringConvertible MainActor
        ManagedBuffer ManagedBufferPointer MarkdownDecodableAttributedStringKey MassFormatter Measurement MemoryLayout
        Mirror MirrorPath Morphology MutableCollection MutableDataProtocol MutableRawSpan MutableSpan NSAffineTransform
        NSAffineTransformStruct NSArray NSAsynchronousFetchRequest NSAsynchronousFetchResult NSAttributeDescription
        NSAttributeType NSAttributedString NSBatchDeleteRequest NSBatchDeleteRequestResultType NSBatchDeleteResult
        NSBatchInsertRequest NSBatchInsertRequestResultType NSBatchInsertResult NSBatchUpdateRequest
        NSBatchUpdateRequestResultType NSBatchUpdateResult NSBinarySearchingOptions NSCache NSCacheDelegate NSCalendar
        NSCharacterSet NSCoder NSCoding NSComparisonPredicate NSCompositeAttributeDescription NSCompoundPredicate
        NSCondition NSConditionLock NSConstraintConflict NSCopying NSCountedSet NSCustomMigrationStage NSData NSDate
        NSDateComponents NSDateInterval NSDecimalNumber NSDecimalNumberBehaviors NSDecimalNumberHandler NSDeleteRule
        NSDerivedAttributeDescription NSDictionary NSEdgeInsets NSEntityDescription NSEntityMapping NSEntityMappingType
        NSEntityMigrationPolicy NSEnumerationOptions NSEnumerator NSError NSErrorDomain NSExceptionName NSExpression
        NSExpressionDescription NSFetchRequest NSFetchRequestResult NSFetchRequestResultType NSIndexPath NSIndexSet
        NSIndexSetIterator NSKeyValueObservation NSKeyValueObservedChange NSKeyValueObservingOptions NSKeyedArchiver
        NSKeyedArchiverDelegate NSKeyedUnarchiver NSKeyedUnarchiverDelegate NSLightweightMigrationStage NSLocale NSLock
        NSLocking NSManagedObject NSManagedObjectContext NSManagedObjectContextConcurrencyType NSManagedObjectID
        NSManagedObjectModel NSManagedObjectModelReference NSMappingModel NSMeasurement NSMergeConflict NSMergePolicy
        NSMergePolicyType NSMigrationManager NSMigrationStage NSMutableArray NSMutableAttributedString
        NSMutableCharacterSet NSMutableCopying NSMutableData NSMutableDictionary NSMutableIndexSet NSMutableOrderedSet
        NSMutableSet NSMutableString NSNotification NSNull NSNumber NSObject NSObjectProtocol NSOrderedSet NSOrthography
        NSPersistentContainer NSPersistentStore NSPersistentStoreCoordinator NSPersistentStoreDescription
        NSPersistentStoreRequest NSPersistentStoreResult NSPersonNameComponents NSPoint NSPointArray NSPointPointer
        NSPredicate NSPropertyDescription NSPropertyMapping NSRange NSRangePointer NSRect NSRectArray NSRectEdge
        NSRectPointer NSRecursiveLock NSRegularExpression NSRelationshipDescription NSSecureCoding
        NSSecureUnarchiveFromDataTransformer NSSet NSSize NSSizeArray NSSizePointer NSSnapshotEventType NSSortDescriptor
        NSSortOptions NSStagedMigrationManager NSString NSTextCheckingKey NSTextCheckingResult NSTimeZone NSURL
        NSURLComponents NSURLQueryItem NSUUID NSValue NSValueTransformerName NSZone Never Notification
        NotificationCenter NotificationQueue NumberFormatter Numeric ObjCBool ObjectIdentifier OpaquePointer
        OperatingSystemVersion Operation OperationQueue OptionSet Optional OutputRawSpan OutputSpan OutputStream
        POSIXError ParseStrategy ParseableFormatStyle PartialAsyncTask PartialKeyPath PartialRangeFrom
        PartialRangeThrough PartialRangeUpTo PersonNameComponents PersonNameComponentsFormatter Pipe PlaygroundQuickLook
        Port PortDelegate PortMessage Predicate PredicateBindings PredicateError PredicateExpression
        PredicateExpressions PrefixSequence Process ProcessInfo Progress ProgressKind ProgressReporting
        ProgressUserInfoKey PropertyListDecoder PropertyListEncoder PropertyListSerialization QualityOfService
        RandomAccessCollection RandomNumberGenerator Range RangeExpression RangeReplaceableCollection RangeSet
        RawRepresentable RawSpan RecoverableError ReferenceConvertible ReferenceWritableKeyPath Regex RegexComponent
        RegexRepetitionBehavior RegexSemanticLevel RegexWordBoundaryKind Repeated Result ReversedCollection RunLoop SIMD
        SIMD16 SIMD2 SIMD3 SIMD32 SIMD4 SIMD64 SIMD8 SIMDMask SIMDScalar SIMDStorage Scanner ScopedAttributeContainer
        Sendable SendableMetatype Sequence SerialExecutor Set SetAlgebra SetIndex SetIterator ShownValue SignedInteger
        SignedNumeric SingleValueDecodingContainer SingleValueEncodingContainer Slice SocketNativeHandle SocketPort
        SortComparator SortOrder Span StandardPredicateExpression StaticBigInt StaticString Stream StreamDelegate
        StreamNetworkServiceTypeValue StreamSOCKSProxyConfiguration StreamSOCKSProxyVersion StreamSocketSecurityLevel
        StrideThrough StrideThroughIterator StrideTo StrideToIterator Strideable String StringInterpolationProtocol
        StringLiteralType StringProtocol StringTransform Substring SuspendingClock SystemRandomNumberGenerator Task
        TaskExecutor TaskGroup TaskLocal TaskPriority TextOutputStream TextOutputStreamable Thread
        ThrowingDiscardingTaskGroup ThrowingTaskGroup TimeInterval TimeZone Timer UInt UInt128 UInt16 UInt32 UInt64
        UInt8 URL URLComponents URLError URLFileResourceType URLQueryItem URLResourceKey URLResourceValues UTF16 UTF32
        UTF8 UTF8Span UUID UnboundedRange UnboundedRange_ UndoManager UnfoldFirstSequence UnfoldSequence Unicode
        UnicodeCodec UnicodeDecodingResult UnicodeScalar UnicodeScalarType Unit UnitAcceleration UnitAngle UnitArea
        UnitConcentrationMass UnitConverter UnitConverterLinear UnitDispersion UnitDuration UnitElectricCharge
        UnitElectricCurrent UnitElectricPotentialDifference UnitElectricResistance UnitEnergy UnitFrequency
        UnitFuelEfficiency UnitIlluminance UnitInformationStorage UnitLength UnitMass UnitPower UnitPressure UnitSpeed
        UnitTemperature UnitVolume UnkeyedDecodingContainer UnkeyedEncodingContainer Unmanaged UnownedJob
        UnownedSerialExecutor UnownedTaskExecutor UnsafeBufferPointer UnsafeContinuation UnsafeCurrentTask
        UnsafeMutableBufferPointer UnsafeMutablePointer UnsafeMutableRawBufferPointer UnsafeMutableRawPointer
        UnsafePointer UnsafeRawBufferPointer UnsafeRawPointer UnsafeThrowingContinuation UnsignedInteger UserDefaults
        ValueTransformer Void WritableKeyPath Zip2Sequence
        """#
}
