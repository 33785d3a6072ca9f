extension PortTable {
    /// The names of members, functions and constants of Swift 6.3, its Foundation on Linux, its C library as far as policies
    /// use it, and Stagecoach. A name that is neither here nor in the ported sources does not compile.
    static let knownNamesText = #"""
        ASCII ActorType AllCases AlternateDescriptionAttribute AncestorRepresentation Arithmetic ArithmeticOperator
        ArrayLiteralElement AsyncIterator AsyncMessage Attribute AttributeInvalidationCondition AttributeMergePolicy
        AttributeRunBoundaries Attributes AttributesSlice1 AttributesSlice2 AttributesSlice3 AttributesSlice4 AttributesSlice5
        AutoreleaseFrequency Base64DecodingOptions Base64EncodingOptions BaseMessageIdentifier BooleanLiteralType Bound
        BrokenRule BufferingPolicy Builder ByteCountAttribute Bytes CalculationError CancellationError CanonicalCombiningClass
        Category Cause Change CharacterIterator CharacterView CheckingType Child Children CloseFlags ClosedRange Code CodeUnit
        Collation CollectionContainsCollection CollectionIndexSubscript CollectionRangeSubscript CommonKeyPathKind Comparator
        CompareOptions Compared Comparison ComparisonOperator Component Components ConcurrencyType Conditional ConditionalCast
        Conjunction Context Continuation CountStyle Coverage Currency CustomPronoun Dangling DataDecodingStrategy
        DataEncodingStrategy DateDecodingStrategy DateEncodingStrategy DateFieldAttribute DateSeparator DateTimeSeparator
        Deallocator DebugDescription DecodingConfiguration DecodingFailurePolicy DictionaryKeyDefaultValueSubscript
        DictionaryKeySubscript Difference DirectoryEnumerationOptions DirectoryEnumerator DirectoryHint Disjunction Disk
        DisplayStyle Distance Duration DurationFieldAttribute E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN
        EALREADY EBADF EBADMSG EBUSY ECANCELED ECHILD ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDQUOT
        EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE
        EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT ENOEXEC
        ENOLCK ENOLINK ENOMEM ENOMSG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTRECOVERABLE
        ENOTSOCK ENOTTY ENXIO EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMOTE
        EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESTALE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUSERS EWOULDBLOCK EXDEV
        Element Elements EncodedScalar Encoding EncodingConfiguration EncodingConversionOptions End EntityMapping
        EnumerationOptions Equal Event Evidence Exponent Expression ExpressionEvaluate ExpressionType
        ExtendedGraphemeClusterLiteralType Failure Field FileOperationKind FileSystemEvent Filter FloatDivision
        FloatLiteralType ForceCast ForcedUnwrap FormatInput FormatOutput ForwardParser FoundationAttributes Frequency
        GeneralCategory GlobalQueuePriority GrammaticalGender GrammaticalNumber Group Handle Handler HourCycle ID ISO8601
        ISO8601Format ISO8601FormatStyle Identifier IdentifierType ImageURLAttribute Index IndexDistance Indices Inputs
        Instant IntDivision IntRemainder IntegerLiteralType IntervalFlags ItemReplacementOptions Iterator Kept Key
        KeyDecodingStrategy KeyEncodingStrategy KeyPath Keys Kind Language LanguageCode LanguageDirection
        LanguageIdentifierAttribute Line LinkAttribute LogicalType Lookup Magnitude MainActorMessage Mapping MappingDigest
        MaskStorage Match MatchingFlags MatchingOptions MatchingPolicy MeasurementAttribute MeasurementSystem Memory MergeType
        MessageIdentifier MessageType Mode Model Modifier Month MutabilityOptions NSAffectedObjectsErrorKey
        NSAffectedStoresErrorKey NSBinaryStoreInsecureDecodingCompatibilityOption NSBinaryStoreSecureDecodingClasses
        NSBinaryStoreType NSCalendarDayChanged NSClassFromString NSCocoaErrorDomain NSCoderReadCorruptError
        NSCoderValueNotFoundError NSContainsRect NSCoreDataError NSDateComponentUndefined NSDebugDescriptionErrorKey
        NSDecimalAdd NSDecimalCompact NSDecimalCompare NSDecimalCopy NSDecimalDivide NSDecimalIsNotANumber NSDecimalMaxSize
        NSDecimalMultiply NSDecimalMultiplyByPowerOf10 NSDecimalNoScale NSDecimalNormalize NSDecimalPower NSDecimalRound
        NSDecimalString NSDecimalSubtract NSDeletedObjectsKey NSDetailedErrorsKey NSDidBecomeSingleThreaded NSDivideRect
        NSEdgeInsetsEqual NSEdgeInsetsMake NSEdgeInsetsZero NSEntityMigrationPolicyError NSEqualPoints NSEqualRanges
        NSEqualRects NSEqualSizes NSErrorMergePolicy NSExecutableArchitectureMismatchError NSExecutableLinkError
        NSExecutableLoadError NSExecutableNotLoadableError NSExecutableRuntimeMismatchError NSExternalRecordImportError
        NSFeatureUnsupportedError NSFileHandleConnectionAccepted NSFileHandleDataAvailable NSFileHandleNotificationDataItem
        NSFileHandleNotificationFileHandleItem NSFileHandleReadToEndOfFileCompletion NSFileLockingError
        NSFileManagerUnmountBusyError NSFileManagerUnmountUnknownError NSFileNoSuchFileError NSFilePathErrorKey
        NSFileReadCorruptFileError NSFileReadInapplicableStringEncodingError NSFileReadInvalidFileNameError
        NSFileReadNoPermissionError NSFileReadNoSuchFileError NSFileReadTooLargeError NSFileReadUnknownError
        NSFileReadUnknownStringEncodingError NSFileReadUnsupportedSchemeError NSFileWriteFileExistsError
        NSFileWriteInapplicableStringEncodingError NSFileWriteInvalidFileNameError NSFileWriteNoPermissionError
        NSFileWriteOutOfSpaceError NSFileWriteUnknownError NSFileWriteUnsupportedSchemeError NSFileWriteVolumeReadOnlyError
        NSFormattingError NSFullUserName NSGetSizeAndAlignment NSHeight NSHelpAnchorErrorKey NSHomeDirectory
        NSHomeDirectoryForUser NSIgnorePersistentStoreVersioningOption NSInMemoryStoreType
        NSInferMappingModelAutomaticallyOption NSInferredMappingModelError NSInsertedObjectsKey NSInsetRect NSIntegralRect
        NSIntegralRectWithOptions NSIntersectionRange NSIntersectionRect NSIntersectsRect NSInvalidatedAllObjectsKey
        NSInvalidatedObjectsKey NSIsEmptyRect NSKeyValueValidationError NSKeyedArchiveRootObjectKey NSLocalizedDescriptionKey
        NSLocalizedFailureReasonErrorKey NSLocalizedRecoveryOptionsErrorKey NSLocalizedRecoverySuggestionErrorKey
        NSLocalizedString NSLocationInRange NSLog NSLogv NSMachErrorDomain NSMakePoint NSMakeRange NSMakeRect NSMakeSize
        NSManagedObjectConstraintMergeError NSManagedObjectConstraintValidationError NSManagedObjectContextDidSave
        NSManagedObjectContextLockingError NSManagedObjectContextObjectsDidChange NSManagedObjectContextWillSave
        NSManagedObjectExternalRelationshipError NSManagedObjectMergeError NSManagedObjectModelReferenceNotFoundError
        NSManagedObjectReferentialIntegrityError NSManagedObjectValidationError NSMaxRange NSMaxX NSMaxY
        NSMergeByPropertyObjectTrumpMergePolicy NSMergeByPropertyStoreTrumpMergePolicy NSMidX NSMidY
        NSMigratePersistentStoresAutomaticallyOption NSMigrationCancelledError NSMigrationConstraintViolationError
        NSMigrationDestinationObjectKey NSMigrationEntityMappingKey NSMigrationEntityPolicyKey NSMigrationError
        NSMigrationManagerDestinationStoreError NSMigrationManagerKey NSMigrationManagerSourceStoreError
        NSMigrationMissingMappingModelError NSMigrationMissingSourceModelError NSMigrationPropertyMappingKey
        NSMigrationSourceObjectKey NSMinX NSMinY NSMouseInRect NSNotFound NSOSStatusErrorDomain NSOffsetRect
        NSOverwriteMergePolicy NSPOSIXErrorDomain NSPageSize NSPersistentHistoryTokenExpiredError
        NSPersistentHistoryTrackingKey NSPersistentStoreConnectionPoolMaxSizeKey NSPersistentStoreCoordinatorLockingError
        NSPersistentStoreCoordinatorStoresDidChange NSPersistentStoreCoordinatorStoresWillChange
        NSPersistentStoreCoordinatorWillRemoveStore NSPersistentStoreDeferredLightweightMigrationOptionKey
        NSPersistentStoreFileProtectionKey NSPersistentStoreForceDestroyOption NSPersistentStoreIncompatibleSchemaError
        NSPersistentStoreIncompatibleVersionHashError NSPersistentStoreIncompleteSaveError NSPersistentStoreInvalidTypeError
        NSPersistentStoreOSCompatibility NSPersistentStoreOpenError NSPersistentStoreOperationError
        NSPersistentStoreRemoteChange NSPersistentStoreRemoteChangeNotificationPostOptionKey
        NSPersistentStoreRemoveUbiquitousMetadataOption NSPersistentStoreSaveConflictsError
        NSPersistentStoreSaveConflictsErrorKey NSPersistentStoreSaveError NSPersistentStoreStagedMigrationManagerOptionKey
        NSPersistentStoreTimeoutError NSPersistentStoreTimeoutOption NSPersistentStoreTypeMismatchError
        NSPersistentStoreUbiquitousContentNameKey NSPersistentStoreUbiquitousContentURLKey
        NSPersistentStoreUnsupportedRequestTypeError NSPersonNameComponentDelimiter NSPersonNameComponentFamilyName
        NSPersonNameComponentGivenName NSPersonNameComponentKey NSPersonNameComponentMiddleName NSPersonNameComponentNickname
        NSPersonNameComponentPrefix NSPersonNameComponentSuffix NSPointFromCGPoint NSPointFromString NSPointInRect
        NSPointToCGPoint NSPropertyListReadCorruptError NSPropertyListReadStreamError NSPropertyListReadUnknownVersionError
        NSPropertyListWriteInvalidError NSPropertyListWriteStreamError NSRangeFromString NSReadOnlyPersistentStoreOption
        NSRecoveryAttempterErrorKey NSRectFromCGRect NSRectFromString NSRectToCGRect NSRefreshedObjectsKey
        NSRollbackMergePolicy NSRoundDownToMultipleOfPageSize NSRoundUpToMultipleOfPageSize NSSQLiteAnalyzeOption
        NSSQLiteError NSSQLiteErrorDomain NSSQLiteManualVacuumOption NSSQLitePragmasOption NSSQLiteStoreType
        NSSearchPathForDirectoriesInDomains NSSizeFromCGSize NSSizeFromString NSSizeToCGSize
        NSStagedMigrationBackwardMigrationError NSStagedMigrationFrameworkVersionMismatchError NSStoreModelVersionHashesKey
        NSStoreModelVersionIdentifiersKey NSStoreTypeKey NSStoreUUIDKey NSStreamSOCKSErrorDomain NSStreamSocketSSLErrorDomain
        NSStringEncodingErrorKey NSStringFromClass NSStringFromPoint NSStringFromRange NSStringFromRect NSStringFromSize
        NSStringToDecimal NSSystemTimeZoneDidChange NSTemporaryDirectory NSThreadWillExit NSTimeIntervalSince1970
        NSURLErrorAppTransportSecurityRequiresSecureConnection NSURLErrorBackgroundSessionInUseByAnotherProcess
        NSURLErrorBackgroundSessionRequiresSharedContainer NSURLErrorBackgroundSessionWasDisconnected
        NSURLErrorBackgroundTaskCancelledReasonKey NSURLErrorBadServerResponse NSURLErrorBadURL NSURLErrorCallIsActive
        NSURLErrorCancelled NSURLErrorCancelledReasonBackgroundUpdatesDisabled
        NSURLErrorCancelledReasonInsufficientSystemResources NSURLErrorCancelledReasonUserForceQuitApplication
        NSURLErrorCannotCloseFile NSURLErrorCannotConnectToHost NSURLErrorCannotCreateFile NSURLErrorCannotDecodeContentData
        NSURLErrorCannotDecodeRawData NSURLErrorCannotFindHost NSURLErrorCannotLoadFromNetwork NSURLErrorCannotMoveFile
        NSURLErrorCannotOpenFile NSURLErrorCannotParseResponse NSURLErrorCannotRemoveFile NSURLErrorCannotWriteToFile
        NSURLErrorClientCertificateRejected NSURLErrorClientCertificateRequired NSURLErrorDNSLookupFailed
        NSURLErrorDataLengthExceedsMaximum NSURLErrorDataNotAllowed NSURLErrorDomain NSURLErrorDownloadDecodingFailedMidStream
        NSURLErrorDownloadDecodingFailedToComplete NSURLErrorFailingURLErrorKey NSURLErrorFailingURLPeerTrustErrorKey
        NSURLErrorFailingURLStringErrorKey NSURLErrorFileDoesNotExist NSURLErrorFileIsDirectory NSURLErrorHTTPTooManyRedirects
        NSURLErrorInternationalRoamingOff NSURLErrorKey NSURLErrorNetworkConnectionLost NSURLErrorNoPermissionsToReadFile
        NSURLErrorNotConnectedToInternet NSURLErrorRedirectToNonExistentLocation NSURLErrorRequestBodyStreamExhausted
        NSURLErrorResourceUnavailable NSURLErrorSecureConnectionFailed NSURLErrorServerCertificateHasBadDate
        NSURLErrorServerCertificateHasUnknownRoot NSURLErrorServerCertificateNotYetValid NSURLErrorServerCertificateUntrusted
        NSURLErrorTimedOut NSURLErrorUnknown NSURLErrorUnsupportedURL NSURLErrorUserAuthenticationRequired
        NSURLErrorUserCancelledAuthentication NSURLErrorZeroByteResource NSUbiquitousFileNotUploadedDueToQuotaError
        NSUbiquitousFileUbiquityServerNotAvailable NSUbiquitousFileUnavailableError NSUnderlyingErrorKey NSUnionRange
        NSUnionRect NSUpdatedObjectsKey NSUserActivityConnectionUnavailableError NSUserActivityHandoffFailedError
        NSUserActivityHandoffUserInfoTooLargeError NSUserActivityRemoteApplicationTimedOutError NSUserCancelledError
        NSUserName NSValidateXMLStoreOption NSValidationDateTooLateError NSValidationDateTooSoonError
        NSValidationInvalidDateError NSValidationInvalidURIError NSValidationKeyErrorKey
        NSValidationMissingMandatoryPropertyError NSValidationMultipleErrorsError NSValidationNumberTooLargeError
        NSValidationNumberTooSmallError NSValidationObjectErrorKey NSValidationPredicateErrorKey
        NSValidationRelationshipDeniedDeleteError NSValidationRelationshipExceedsMaximumCountError
        NSValidationRelationshipLacksMinimumCountError NSValidationStringPatternMatchingError NSValidationStringTooLongError
        NSValidationStringTooShortError NSValidationValueErrorKey NSWidth NSWillBecomeMultiThreaded NSXMLStoreType
        NSXPCConnectionInterrupted NSXPCConnectionInvalid NSXPCConnectionReplyInvalid NSZeroPoint NSZeroRect NSZeroSize Name
        NameStyle NativeType Negation NilCoalesce NilLiteral NonConformingFloatDecodingStrategy
        NonConformingFloatEncodingStrategy NotEqual NotRecomputed NotificationCoalescing NumberFormatAttributes NumberPart
        NumberPartAttribute NumberRepresentation NumberingSystem NumericType ObservationToken Operator OptionalFlatMap Options
        Origin Outcome Output OutputFormatting PadPosition ParseInput ParseOutput ParseResult Parser Part PartOfSpeech Pass
        Path PersonNameComponentAttribute Phase Pointee Policy PostingStyle Predicate PredicateRegex Priority Properties
        Property PropertyKey PropertyListFormat QoSClass QueuePriority Range RangeExpressionContains RangeView Ranges
        RawExponent RawSignificand RawValue ReadOptions ReadingOptions Reason RecurrenceRule ReferenceType RegexOutput Region
        Regions Relationship Repair RepeatedTimePolicy ReplacementIndexAttribute Resolution ReverseParser RoundingMode Run
        Runs SIMD16Storage SIMD2Storage SIMD32Storage SIMD4Storage SIMD64Storage SIMD8Storage SIMDMaskScalar Sample Scalar
        ScheduledTaskType Script SearchDirection SearchOptions SearchPathDirectory SearchPathDomainMask SequenceAllSatisfy
        SequenceContains SequenceContainsWhere SequenceMaximum SequenceMinimum SequenceStartsWith SingleAttributeTransformer
        Snapshot Status Step Store StoreType Strategy Stream1 Stream2 StreamType Stride StringContainsRegex
        StringInterpolation StringLiteralType Style SubSequence Subdivision Subject Subsequence Suggestion Symbol
        SymbolAttribute Table TaskLocal Template Termination TerminationReason TimeSeparator TimeZoneSeparator TimerFlags
        TypeCheck URIAttributeType URLRelationship UTF16 UTF16View UTF32 UTF8 UTF8View UUIDAttributeType UnaryMinus
        UnicodeScalarIndex UnicodeScalarIterator UnicodeScalarLiteralType UnicodeScalarView Unit UnitStyle Units Unmapped
        UnmountOptions ValidationError Value Values Variable VariableID VariableName Variant Version VolumeEnumerationOptions
        Weekday Words WriteOptions WritingDirection WritingDirectionAttribute WritingOptions YieldResult abbreviated
        abbreviation abbreviationDictionary abort above aboveLeft aboveRight abs absoluteString absoluteURL acceptInput acos
        acosh acreFeet acres activate activeProcessorCount actualByteCount add addAttribute addAttributes addBarrierBlock
        addCharacters addChild addDependency addEntityMappingType addEntries addExecutionBlock addImmediateTask
        addImmediateTaskUnlessCancelled addObjects addObserver addOperation addOperations addPersistentStore addProduct
        addSuite addTask addTaskUnlessCancelled addTimeInterval addedToDirectoryDate addedToDirectoryDateKey adding
        addingObjects addingPercentEncoding addingProduct addingReportingOverflow addingTimeInterval address addresses
        adjective adjustingRanges adlam adminApplicationDirectory adposition advanced adverb affectedObjects affectedStores
        afghanistan afterDate afterKey afterOccurrences afterPrefix afterSuffix age aggregate ainu albania albanian algeria
        alignAllEdgesInward alignAllEdgesNearest alignAllEdgesOutward alignHeightInward alignHeightNearest alignHeightOutward
        alignMaxXInward alignMaxXNearest alignMaxXOutward alignMaxYInward alignMaxYNearest alignMaxYOutward alignMinXInward
        alignMinXNearest alignMinXOutward alignMinYInward alignMinYNearest alignMinYOutward alignRectFlipped alignWidthInward
        alignWidthNearest alignWidthOutward alignedDown alignedUp alignment all allApplicationsDirectory allBundles allCases
        allDomainsMask allFrameworks allKeys allLibrariesDirectory allObjects allPartitionsAndEjectDisk allSatisfy allValues
        allocate allow allowCommentsAndWhitespace allowFragments allowLossy allowedClasses allowedTopLevelClasses allowedUnits
        allowsExternalBinaryDataStorage allowsFloats allowsJSON5 allowsKeyedCoding allowsNonnumericFormatting
        allowsReverseTransformation alpha2 alpha3 alphanumeric alphanumerics alternateDescription
        alternateQuotationBeginDelimiter alternateQuotationBeginDelimiterKey alternateQuotationEndDelimiter
        alternateQuotationEndDelimiterKey alwaysMapped alwaysShowsDecimalSeparator amPM amSymbol americanSamoa amharic amounts
        ampereHours amperes anchored anchorsMatchLineEndings anchorsMatchLines and andorra angola anguilla answer antarctica
        antiguaBarbuda any anyKey anyObject apacheWestern appStoreReceiptURL appTransportSecurityRequiresSecureConnection
        append appendInterpolation appendLiteral appendOnly appendPathComponent appendPathExtension appending appendingFormat
        appendingPathComponent appendingPathExtension appendsToExisting applicationDirectory applicationIsScriptable
        applicationIsScriptableKey applicationScriptsDirectory applicationSupportDirectory applyTransform applying
        applyingTransform arabic arabicNastaliq arc4random_buf arcMinutes arcSeconds archiveRootObject archivedData archiver
        archiverDidFinish archiverWillFinish ares argc argentina argumentDomain arguments armenia armenian array aruba
        asSerialExecutor asTaskExecutor asUnownedSerialExecutor asUnownedTaskExecutor asap ascending ascensionIsland ascii
        asciiOnlyCharacterClasses asciiOnlyDigits asciiOnlyWhitespace asciiOnlyWordCharacters asciiValue asin asinh assamese
        assert assertIsolated assertionFailure assign assignCurrentContext associate associativeList assumeIsolated
        assumesTopLevelDictionary assumingMemoryBound assyrian astronomicalUnits async asyncAfter asyncDetached
        asyncUnlessCancelled atEnd atan atan2 atanh atomic attachedAbove attachedAboveRight attachedBelow attachedBelowLeft
        attemptRecovery attoseconds attrib attribute attributeChanged attributeMappings attributeModificationDate
        attributeModificationDateKey attributeType attributeValueClassName attributedSubstring attributes attributesByName
        attributesOfFileSystem attributesOfItem australia austria auto automatic automaticallyMergesChangesFromParent
        autoreleasepool autosavedInformationDirectory autoupdatingCurrent availableData availableLocaleIdentifiers
        availableNumberingSystems availableStringEncodings awake awakeFromFetch awakeFromInsert awayFromZero azerbaijan
        azerbaijani background backgroundSessionInUseByAnotherProcess backgroundSessionRequiresSharedContainer
        backgroundSessionWasDisconnected backward backwards badServerResponse badURL bahamas bahrain bangla bangladesh bankers
        barbados barrier bars base base64 base64EncodedData base64EncodedString base64URLAlphabet baseAddress basePriority
        baseURL baseUnit baseUnitValue batchSize bcp47 becomeCurrent beforePrefix beforeSuffix begin beginEditing
        beginUndoGrouping beginningOfSentence beginsWith belarus belarusian belgium belize below belowLeft belowRight benin
        bermuda between bhutan bidirectionalCollectionLast bigEndian binade binary binaryData binaryDataAttributeType
        bindMemory binding bitPattern bitWidth bitmapRepresentation bits block blockSpecial bodo bolivia bool boolValue
        boolean booleanAttributeType bosniaHerzegovina botswana bottom bottomToTop bouvetIsland brazil britishVirginIslands
        broadcast broken brunei buddhist buffer bufferingNewest bufferingOldest build_Arg build_Arithmetic build_ClosedRange
        build_Comparison build_Conditional build_Conjunction build_Disjunction build_Division build_Equal build_ForcedUnwrap
        build_KeyPath build_Negation build_NilCoalesce build_NilLiteral build_NotEqual build_Range build_Remainder
        build_UnaryMinus build_allSatisfy build_contains build_evaluate build_filter build_flatMap build_max build_min
        build_starts build_subscript builtInPlugInsPath builtInPlugInsURL bulgaria bulgarian bundleIdentifier bundlePath
        bundleURL burkinaFaso burmese burundi bushels busy byComposedCharacterSequences byEntity byLines byParagraphs byRule
        byte byteCount byteOffsets byteSwapped bytes bytesEqual bytesRead bytesWritten cString cache cachedModel
        cachedSnapshot cachesDirectory calendar calendarIdentifier callAsFunction callIsActive callSignaling
        callStackReturnAddresses callStackSymbols calorie calories cambodia cameroon canBeConverted canInflect
        canInflectPreferredLocalization canRedo canUndo canada canaryIslands cancel cancelAll cancelAllOperations
        cancelMigrationWithError cancellation cancellationHandler cancelled cannotCloseFile cannotConnectToHost cannotCreate
        cannotCreateFile cannotDecodeContentData cannotDecodeRawData cannotFindHost cannotLoadFromNetwork cannotMoveFile
        cannotOpenFile cannotParseResponse cannotRemoveFile cannotWriteToFile canonicalCombiningClass canonicalIdentifier
        canonicalLanguageIdentifier canonicalLocaleIdentifier canonicalPath canonicalPathKey cantonese capacity capeVerde
        capitalized capitalizedLetter capitalizedLetters carats caribbeanNetherlands carrier cascade cascadeDeleteRule
        caseInsensitive caseInsensitiveCompare caseSensitive catalan category cause caymanIslands cbrt ceil ceilf ceiling
        celsius centigrams centiliters centimeter centimeters centralAfricanRepublic ceutaMelilla chad chagosArchipelago
        changeCounter changeCurrentDirectoryPath changedSources changedValues changedValuesForCurrentEvent
        changesWhenCaseFolded changesWhenCaseMapped changesWhenLowercased changesWhenNFKCCaseFolded changesWhenTitlecased
        changesWhenUppercased character characterDirection characterIsMember characterSpecial characters charactersEqual
        charactersToBeSkipped check checkCancellation checkFileSystem checkForASCII checkForNFC checkIsolated checkLosses
        checkResourceIsReachable checked checkpoint checksumsForVersionedModel cherokee children chile chinaMainland chinese
        christmasIsland clamp clamped class classFallbacksForKeyedArchiver classForCoder classForKeyedArchiver
        classForKeyedUnarchiver classNameForClass classNamed cldr clientCertificateRejected clientCertificateRequired
        clippertonIsland clock close closeFile closePunctuation closed closes cloudKit cocosIslands code codeUnits
        coderInvalidValue coderReadCorrupt coderValueNotFound codingKey codingPath coefficient collation collationIdentifier
        collatorIdentifier collection collectionCount collectionFirst collectionIsEmpty colombia colon column combine
        committedValues common commonISOCurrencyCodes commonPrefix comoros compactMap compactMapValues comparator compare
        compared comparisonPredicateModifier complete completeFileProtection completeFileProtectionUnlessOpen
        completeFileProtectionUntilFirstUserAuthentication completePath completeUnlessOpen
        completeUntilFirstUserAuthentication completed completedUnitCount completionBlock component components
        componentsJoined componentsToDisplay composite compositeAttributeType compositeName composites compoundIndexes
        compoundPredicateType computed concurrencyType concurrent concurrentPerform condition conditional configuration
        configurationName configurations confinement confinementConcurrencyType conflictingObjects conflictingSnapshots
        congoBrazzaville congoKinshasa conjunction connectorPunctuation constant constantValue constraint constraintValues
        consuming container contains containsValue contentAccessDate contentAccessDateKey contentModificationDate
        contentModificationDateKey contents contentsEqual contentsOfDirectory context continuous control controlCharacters
        convert convertFromSnakeCase convertFromString convertToSnakeCase convertToString converted converter converting
        cookIslands copied coptic copy copyBytes copyEntityMappingType copyItem copyMemory copying copysign coreData
        coreServiceDirectory correction cos cosh costaRica coulombs count countByKind countLimit countOfIndexes
        countResultType countStyle countryCode counts create createDestinationInstances createDirectory createFile
        createRelationships createSymbolicLink created createdByPolicy creationDate creationDateKey croatia croatian cuba
        cubicCentimeters cubicDecimeters cubicFeet cubicInches cubicKilometers cubicMeters cubicMiles cubicMillimeters
        cubicYards cups curaçao currency currencyAccounting currencyCode currencyDecimalSeparator currencyGroupingSeparator
        currencyISOCode currencyPlural currencySymbol current currentCodeUnitOffset currentDirectory currentDirectoryPath
        currentDirectoryURL currentEntityMapping currentFormatVersion currentIndex currentLocaleDidChangeNotification
        currentMode currentModel currentPriority custom customEntityMappingType customIconKey customMirror
        customPlaygroundQuickLook customPronoun customized cyprus cyrillic czech czechia côteDIvoire daily dangi dangling
        danglingReferences danish dash dashPunctuation data dataCorrupted dataCorruptedError dataDecodingStrategy
        dataEncodingStrategy dataLengthExceedsMaximum dataNotAllowed dataRepresentation dataWrittenToMemoryStreamKey
        databaseObject databaseSnapshot date dateAttributeType dateComponents dateDecodingStrategy dateEncodingStrategy
        dateField dateFormat dateInterval dateIntervalOfWeekend dateSeparator dateStyle dateTemplate dateTimeSeparator dates
        day dayOfYear daylightSaving daylightSavingTimeOffset days daysOfTheMonth daysOfTheYear deallocate debugDescription
        debugPrint decameters decigrams deciliters decimal decimalAttributeType decimalDigit decimalDigits decimalNumber
        decimalNumberDivideByZeroException decimalNumberExactnessException decimalNumberOverflowException
        decimalNumberUnderflowException decimalSeparator decimalValue decimeters decode decodeArray decodeBool decodeCInt
        decodeCString decodeData decodeDouble decodeFloat decodeIfPresent decodeInt32 decodeInt64 decodeInteger decodeMarkdown
        decodeNil decodeObject decodePoint decodePropertyList decodeRect decodeSize decodeValue decodingConfiguration
        decodingFailurePolicy decomposable decomposables decomposedStringWithCanonicalMapping
        decomposedStringWithCompatibilityMapping decompressingAfterDownloading default defaultBehavior defaultCStringEncoding
        defaultDate defaultDirectoryURL defaultMaxConcurrentOperationCount defaultValue deferredToData deferredToDate
        definition degrees deinitialize deinitializeElement delegate delete deleteCharacters deleteLastPathComponent
        deletePathExtension deleteRule deleted deletedObjects deletedSources deletingLastPathComponent deletingPathExtension
        delimiter demoApplicationDirectory denmark deny denyDeleteRule dependencies depth dequeueNotifications
        derivationExpression descendant description descriptionInStringsFileFormat desktopDirectory destination
        destinationBytes destinationContext destinationEntity destinationEntityName destinationEntityVersionHash
        destinationInstances destinationModel destinationOfSymbolicLink destinationPath destinationRootEntity
        destinationVersion destinationVersionName destroyPersistentStore detach detachNewThread detached detectConflicts
        determiner detours devanagari developerApplicationDirectory developerDirectory developmentLocalization
        deviceIdentifier dhivehi diacriticInsensitive dictionary dictionaryHandler dictionaryRepresentation
        dictionaryResultType dictionaryWithValues didAccessValue didBecomeInvalidNotification didChangeNotification
        didChangeObjectsNotification didChangeValue didMigrateHandler didSave didSaveObjectsNotification
        didTerminateNotification didTurnIntoFault diegoGarcia difference differenceCount differences differing digest digit
        direct directory directoryAttributes disableUndoRegistration discreteInput discreteProgress disk dispatchMain
        dispatchPrecondition displayName displayStyle distance distantFuture distantPast divide divideByZero divided
        dividedReportingOverflow dividing dividingFullWidth djibouti dnsLookupFailed documentDirectory documentIdentifier
        documentIdentifierKey documentationDirectory doesRelativeDateFormatting dogri domain dominica dominicanRepublic done
        dotMatchesLineSeparators dotMatchesNewlines double doubleAbove doubleAttributeType doubleBelow doubleValue down
        downloadDecodingFailedMidStream downloadDecodingFailedToComplete downloading downloadsDirectory drand48 drop dropFirst
        dropLast dropped droppedByPolicy dsohandle dump duration durationField dutch dynamic dzongkha eager earlierDate eb
        ecuador edgeInsetsValue editingString effectiveIconKey egypt elSalvador element elements elementsEqual empty
        emptyInput enableUndoRegistration enclosingMark encode encodeArray encodeBycopyObject encodeByrefObject encodeBytes
        encodeConditional encodeConditionalObject encodeIfPresent encodeNil encodePropertyList encodeRootObject encodeValue
        encodedData encodedHost encodedOffset encodedReplacementCharacter encodingConfiguration end endDate endEditing
        endEncountered endIndex endInstanceCreation endLineWithCarriageReturn endLineWithLineFeed endRelationshipCreation
        endUndoGrouping endsWith enforceQoS english enqueue enqueued enter entities entitiesByName entity entityMapping
        entityMappings entityMappingsByName entityMigrationPolicy entityMigrationPolicyClassName entityName entityNames
        entityVersionHashesByName enum enumerate enumerateAttribute enumerateAttributes enumerateBytes enumerateDates
        enumerateKeysAndObjects enumerateLines enumerateMatches enumerateObjects enumerateRanges enumerateSubstrings
        enumerated enumerator environment equalTo equatorialGuinea era eraSymbols erf erfc eritrea errno error errorCode
        errorDescription errorDomain errorMergePolicyType errorOccurred errorUserInfo escalatePriority escaped escapedPattern
        escapedTemplate estimatedResultCount estimatedTimeRemainingKey estonia estonian eswatini ethiopia ethiopic
        ethiopicAmeteAlem ethiopicAmeteMihret evaluate evaluatedObject evenHalf every evictsObjectsWithDiscardedContent
        evidence exabits exabytes exbibits exbibytes exchange exchangeObject excuse executableArchitectureMismatch
        executableArchitectures executableLink executableLoad executableNotLoadable executablePath executableRuntimeMismatch
        executableURL execute executionBlocks exemplarCharacterSet existingObject exit exp exp2 expandingTildeInPath expected
        expectedBytes expectedChecksum expectedLinks expf explain explicit expm1 exponent exponentBitCount exponentBitPattern
        exponentSymbol expression expressionForAnyKey expressionForEvaluatedObject expressionResultType expressionType
        expressionValue extend extendLifetime extensionHidden external externalFilesCreated externalMacro externalRecordImport
        externalRepresentation externalThreshold externalValues extraObject extractIsolation extractValues extracting fabs
        fahrenheit fail failWithError failingURL fails failure failureReason failureURLString falklandIslands false
        falseBranch familyName faroeIslands faroese fastestEncoding fatalError fathoms faultingState fdim featureUnsupported
        feet feminine femtowatts fetch fetchBatchSize fetchLimit fetchOffset fetchRequest fetchRequestFromTemplate
        fetchRequestTemplate fetchRequestTemplatesByName fetchRequests fetchedProperties fflush fiji file fileAllocatedSize
        fileAllocatedSizeKey fileAttributes fileCompletedCountKey fileCurrentOffsetKey fileDescriptor fileDoesNotExist
        fileExists fileHandleForReading fileHandleForWriting fileHandleOperationException fileID fileIsDirectory fileLocking
        fileManager fileNoSuchFile fileOperationKindKey filePath filePathURL fileProtectionMask fileReadCorruptFile
        fileReadInapplicableStringEncoding fileReadInvalidFileName fileReadNoPermission fileReadNoSuchFile fileReadTooLarge
        fileReadUnknown fileReadUnknownStringEncoding fileReadUnsupportedScheme fileResourceIdentifier
        fileResourceIdentifierKey fileResourceType fileResourceTypeKey fileSecurityKey fileSize fileSizeKey
        fileSystemRepresentation fileTotalCountKey fileURL fileURLKey fileWriteFileExists fileWriteInapplicableStringEncoding
        fileWriteInvalidFileName fileWriteNoPermission fileWriteOutOfSpace fileWriteUnknown fileWriteUnsupportedScheme
        fileWriteVolumeReadOnly files filled filter filterOnly filtered filteredIndexSet filteredOrDropped finalPunctuation
        finalResult finalize find finish finishDecoding finishEncoding finished finland finnish fire fireDate first
        firstDayOfWeek firstEqual firstIndex firstMatch firstObject firstObjectCommon firstRange firstWeekday flatMap
        flatMapError float floatAttributeType floatValue floatingPointClass floor floorf fluidOunces fmax fmin fmod folding
        foot forEach forceCastFailure forceUnwrapFailure forcedOrdering foreignReference formIndex formIntersection
        formRemainder formSquareRoot formSymmetricDifference formTruncatingRemainder formUnion format formatOptions
        formatVersion formatWidth formatted formatting formattingContext forward found foundChecksum foundLinks foundation
        foundationProgress fputs fraction fractionCompleted fragment fragmentsAllowed france free freeCapacity french
        frenchGuiana frenchPolynesia frenchSouthernTerritories frequency frexp friday from fromOpaque fula full fullCheck
        fullUserName fullwidthToHalfwidth function funlock furlongs furtherObjects fusesSteps gabon gallons gambia gb
        generalCategory generated generatesCalendarDates generatesDecimalNumbers generationIdentifier generationIdentifierKey
        generic georgia georgian german germany get getBuffer getBytes getCString getCharacters getEra
        getFileSystemRepresentation getHour getIndexes getLineStart getObjects getParagraphStart getRelationship
        getResourceValue getResult getSpecific getValue getenv gettimeofday ghana gibibits gibibytes gibraltar gigabits
        gigabytes gigahertz gigapascals gigawatts givenName global globalConcurrentExecutor globalDomain globallyUniqueString
        gmt gmtime gradians gram grammar grammaticalGender grams gramsPerLiter graphemeCluster gravity greaterThan
        greaterThanOrEqual greaterThanOrEqualTo greatestFiniteMagnitude greece greek greenland gregorian gregorianStartDate
        grenada groupOwnerAccountID groupOwnerAccountName groupingSeparator groupingSize groups groupsByEvent guadeloupe guam
        guatemala guernsey guinea guineaBissau gujarati gurmukhi guyana haiti halfDown halfEven halfUp hanSimplified
        hanTraditional handle hanifiRohingya hasBytesAvailable hasChanges hasDirectoryPath hasFault hasHiddenExtension
        hasHiddenExtensionKey hasInvalidExistingObjects hasMember hasMemberInPlane hasPersistentChangedValues
        hasPointerRepresentation hasPrefix hasSpaceAvailable hasSuffix hasThousandSeparators hash hashValue hashes
        havingPredicate hawaiian header heardMcdonaldIslands hebrew hectares hectometers hectopascals height helpAnchor hertz
        hexDigitValue hexadecimal hfsCreatorCode hfsTypeCode high highHalf hindi hiragana hiraganaToKatakana history hitEnd
        homeDirectory honduras hongKong horsepower host hostKey hostName hour hourCycle hourly hours httpTooManyRedirects
        hungarian hungary hypot ianaName iceland icelandic icu id idMap identifier identity igbo ignoreMetacharacters
        ignoreUnknownCharacters ignoresCase illegal illegalCharacters ilogb imageURL immediate immediateDetached immutable
        imperialFluidOunces imperialGallons imperialPints imperialQuarts imperialTablespoons imperialTeaspoons in inMemory
        inRange inactive inch inches inchesOfMercury includesActualByteCount includesCount includesDirectoriesPostOrder
        includesPendingChanges includesPropertyValues includesSubentities includesUnit includingFractionalSeconds
        increaseLength index indexGreaterThanIndex indexGreaterThanOrEqual indexLessThanIndex indexLessThanOrEqual
        indexOfObject indexOfObjectIdentical indexRange indexes indexesOfObjects india indian indices indonesia indonesian
        inferFromPath inferred inferredMappingModel inferringMoves infinite infinity inflectionAlternative inflectionRule
        infoDictionary inherit inheritQoS inheritedByAddedText init initial initialPunctuation initialize initializeElement
        initializeMemory initiallyInactive inner input inputMethodsDirectory inputs insert insertNewObject inserted
        insertedObjects insertionIndex insertions insetBy inside int16Value int32Value int64Value int8Value intValue integer
        integer16 integer16AttributeType integer32 integer32AttributeType integer64 integer64AttributeType integerGreaterThan
        integerGreaterThanOrEqualTo integerLessThan integerLessThanOrEqualTo integerValue integral integrity interjection
        internal internalError internationalCurrencySymbol internationalRoamingOff interrupt intersect intersectSet
        intersection intersects intersectsSet interval invalid invalidInput invalidNonSurrogateCodePointByte invalidValue
        invalidate invalidationConditions inverse inverseName inverseRelationship invert inverted io iotaSubscript iran iraq
        ireland irish isASCII isASCIIHexDigit isAbsolutePath isAbstract isAdaptive isAliasFile isAliasFileKey isAllowed
        isAlphabetic isAppended isApplication isApplicationKey isAscending isAsynchronous isAtEnd isBidiControl isBidiMirrored
        isCancellable isCancelled isCanonical isCanonicallyEquivalent isCanonicallyLessThan isCaseIgnorable isCased
        isCoderError isComplete isCompleted isConfiguration isContiguousUTF8 isContinuation isCurrencySymbol isDash isDate
        isDateInToday isDateInTomorrow isDateInWeekend isDateInYesterday isDaylightSavingTime isDefaultIgnorableCodePoint
        isDeferred isDeletableFile isDeleted isDeprecated isDiacritic isDirectory isDirectoryKey isDisjoint isDryRun isEmoji
        isEmojiModifier isEmojiModifierBase isEmojiPresentation isEmpty isEqual isExcludedFromBackup isExcludedFromBackupKey
        isExecutable isExecutableError isExecutableFile isExecutableKey isExecuting isExtender isFault isFileError isFileURL
        isFiltered isFinished isFinite isForFoodEnergyUse isForPersonHeightUse isForPersonMassUse isFormattingError isFull
        isFullCompositionExclusion isGraphemeBase isGraphemeExtend isHexDigit isHidden isHiddenKey isIDContinue
        isIDSBinaryOperator isIDSTrinaryOperator isIDStart isIdentical isIdeographic isIndeterminate isIndexed isInfinite
        isInserted isIsolatingCurrentContext isJoinControl isKind isKindOf isKnownASCII isKnownNFC isKnownUniquelyReferenced
        isLeadSurrogate isLeap isLeapMonth isLenient isLess isLessThanOrEqualTo isLetter isLoaded isLogicalOrderException
        isLost isLowercase isMainExecutor isMainThread isMath isMathSymbol isMember isMountTrigger isMountTriggerKey
        isMultiThreaded isMultiple isNaN isNewline isNoncharacterCodePoint isNormal isNull isNumber isNumeric
        isOperatingSystemAtLeast isOptional isOrdered isPackage isPackageKey isPartialStringValidationEnabled isPatternSyntax
        isPatternWhitespace isPausable isPaused isPhonetic isPrior isPropertyListError isProxy isPunctuation isQuotationMark
        isRTree isRadical isReadOnly isReadable isReadableFile isReadableKey isReady isRecomputed isRegularFile
        isRegularFileKey isRepeatedDay isRerun isRunning isSameExclusiveExecutionContext isSentenceTerminal isSignMinus
        isSignaling isSignalingNaN isSigned isSoftDotted isStaged isStrictSubset isStrictSuperset isSubclass isSubnormal
        isSubset isSuperset isSupported isSurrogate isSuspended isSymbol isSymbolicLink isSymbolicLinkKey isSystemImmutable
        isSystemImmutableKey isTemporaryID isTerminalPunctuation isToMany isTotallyOrdered isTrailSurrogate isTransient
        isUbiquitousFileError isUbiquitousItem isUbiquitousItemKey isUndoRegistrationEnabled isUnifiedIdeograph
        isUniqueReference isUpdated isUppercase isUserActivityError isUserImmutable isUserImmutableKey isValid isValidDate
        isValidJSONObject isValidationError isVariationSelector isVolume isVolumeKey isWarning isWhitespace isWholeNumber
        isWritable isWritableFile isWritableKey isXIDContinue isXIDStart isXPCConnectionError isZero islamic islamicCivil
        islamicTabular islamicUmmAlQura isleOfMan isnan iso2022JP iso8601 iso8601Components iso8601ComponentsWithTimeZone
        iso8601Date iso8601DateComponents iso8601WithTimeZone isoCountryCodes isoCurrencyCodes isoLanguageCodes isoLatin1
        isoLatin2 isoRegionCodes isolation israel italian italy itemReplacementDirectory j0 j1 jamaica japan japanese
        japaneseEUC jersey jn join joinTables joined jordan joule joules json jsonObject kanaVoicing kannada kashmiri katakana
        kazakh kazakhstan kb keep keepCurrent keepNew kelvin kenya kept key keyDecodingStrategy keyEncodingStrategy
        keyEnumerator keyNotFound keyPath keyValueValidation keyedUnarchiveFromDataTransformerName keys keysOfEntries
        keysOfUnsetValuesKey keysSortedByValue khmer kibibits kibibytes kiloampereHours kiloamperes kilobits kilobytes
        kilocalorie kilocalories kilogram kilograms kilohertz kilojoule kilojoules kiloliters kilometer kilometers
        kilometersPerHour kiloohms kilopascals kilovolts kilowattHours kilowatts kind kiribati knots knownTimeZoneNames
        konkani korean kosovo kurdish kurdishSorani kuwait kyrgyz kyrgyzstan label labelColorKey labelNumber labelNumberKey
        language languageCode languageComponents languageIdentifier lao laos last lastEqual lastIndex lastLinked lastObject
        lastPathComponent lastRange laterDate latin latinAmerica latinToArabic latinToCyrillic latinToGreen latinToHangul
        latinToHebrew latinToHiragana latinToKatakana latinToThai latvia latvian launch launchPath launchedProcess layout lazy
        ldexp leadSurrogate leadingZeroBitCount least leastFiniteMagnitude leastNonzeroMagnitude leastNormalMagnitude leave
        lebanon left leftBehind leftExpression leftToRight length lengthOfBytes lesotho lessThan lessThanOrEqual
        lessThanOrEqualTo letter letterNumber letters level levelsOfUndo lexicographicallyPrecedes lgamma lhs liberia
        libraryDirectory libya liechtenstein lightyears like limit limitDate line lineDirection lineLength64Characters
        lineLength76Characters lineRange lineSeparator lines link linkCount linkCountKey linkItem links list listItem literal
        liters litersPer100Kilometers lithuania lithuanian littleEndian load loadAndReturnError loadPersistentStores
        loadUnaligned local localDomainMask locale localeIdentifier localizationDictionary localizations localized
        localizedAdditionalDescription localizedCapitalized localizedCaseInsensitiveCompare localizedCaseInsensitiveContains
        localizedCompare localizedDescription localizedFailureReason localizedInfoDictionary localizedLabel localizedLabelKey
        localizedLowercase localizedName localizedNameKey localizedRecoveryOptions localizedRecoverySuggestion
        localizedScanner localizedStandardCompare localizedStandardContains localizedStandardRange localizedString
        localizedStringWithFormat localizedTypeDescription localizedTypeDescriptionKey localizedUppercase localizesFormat
        localtime lock log log10 log1p log2 logFrame logHash logSize logb logf logged long longCharacterIsMember
        longEraSymbols longLongValue longText longestEffectiveRangeNotRequired lookupCount lookups lossOfPrecision lost low
        lowHalf lower lowerBound lowercaseLetter lowercaseLetters lowercaseMapping lowercased lround lux luxembourg m11 m12
        m21 m22 macOSRoman macao macedonian madagascar magnitude main mainQueue mainQueueConcurrencyType mainThread maithili
        major majorVersion makeAsyncIterator makeCharacterIterator makeContiguousUTF8 makeIterator makeReadSource
        makeSignalSource makeStream makeTimerSource makeUnicodeScalarIterator makeUserDataAddSource makeUserDataOrSource
        makeUserDataReplaceSource makeWriteSource malawi malay malayalam malaysia maldives mali malta maltese
        managedObjectClassName managedObjectConstraintMerge managedObjectConstraintValidation managedObjectContext
        managedObjectContextLocking managedObjectExternalRelationship managedObjectHandler managedObjectID
        managedObjectIDResultType managedObjectMerge managedObjectModel managedObjectModelReferenceNotFound
        managedObjectReferentialIntegrity managedObjectResultType managedObjectValidation mandarinToLatin manipuri map
        mapError mapValues mappedIfSafe mapping mappingModel mappingModels mappingType mappings marathi markdownName
        marshallIslands martinique masculine mask matchFirst matchLast matchNextTime matchNextTimePreservingSmallerUnits
        matchPreviousTimePreservingSmallerUnits matchStrictly matches matchingPolicy matchingSemantics mathSymbol mauritania
        mauritius max maxConcurrentOperationCount maxCount maxX maxXEdge maxY maxYEdge maximum maximumCount
        maximumFractionDigits maximumIntegerDigits maximumKey maximumLength maximumLengthOfBytes maximumMagnitude maximumRange
        maximumRejects maximumSignificantDigits mayotte mb measure measurement measurementSystem measurementSystems mebibits
        mebibytes medium megaampereHours megaamperes megabits megabytes megahertz megaliters megameters megaohms megapascals
        megavolts megawatts meiteiMayek member memberAfterInsert members memcmp memcpy memory memoryBytes memoryLimit merge
        mergeAttributes mergeByPropertyObjectTrump mergeByPropertyObjectTrumpMergePolicyType mergeByPropertyStoreTrump
        mergeByPropertyStoreTrumpMergePolicyType mergeChanges mergePolicy mergeType mergedModel merging mergingAttributes
        message messages metadata metadataForPersistentStore meter meters metersPerSecond metersPerSecondSquared methods
        metric metricCups metricTons mexico microampereHours microamperes micrograms microhertz micrometers micronesia
        microohms microseconds microvolts microwatts midX midY middleName middleOfSentence migratePersistentStore migrateStore
        migrated migration migrationCancelled migrationConstraintViolation migrationManagerDestinationStore
        migrationManagerSourceStore migrationMissingMappingModel migrationMissingSourceModel migrationProgress
        migrationProgressHandler mile miles milesPerGallon milesPerHour milesPerImperialGallon milliampereHours milliamperes
        millibars milligrams milligramsPerDeciliter millihertz milliliters millimeter millimeters millimetersOfMercury
        millimolesPerLiter milliohms milliseconds millisecondsSince1970 millivolts milliwatts min minCount minX minXEdge minY
        minYEdge minimum minimumCount minimumDaysInFirstWeek minimumFractionDigits minimumIntegerDigits minimumLength
        minimumMagnitude minimumRange minimumResolution minimumSignificantDigits minor minorVersion minus minusSet minusSign
        minute minutely minutes missing missingExternalFiles missingObject model modelCache models modf modificationDate
        modifierLetter modifierSymbol moldova monaco monday mongolia mongolian montenegro month monthSymbols monthly months
        montserrat morocco morphology most mostMembers mountedVolumeURLs move moveAssign moveElement moveInitialize
        moveInitializeMemory moveItem moveObjects moveSubranges moveUpdate moviesDirectory mozambique msgid multiple
        multipliedFullWidth multipliedReportingOverflow multiplier multiply multiplying musicDirectory mutableArrayValue
        mutableBytes mutableContainers mutableContainersAndLeaves mutableCopy mutableLeaves mutableOrderedSetValue
        mutableSetValue mutableSpan mutableString myanmar māori name nameAlias nameKey namePrefix nameSuffix namedPipe names
        namibia nan nanograms nanohertz nanometers nanosecond nanoseconds nanowatts native nauru nauticalMiles navajo
        nearbyint negate negativeFormat negativeInfinity negativeInfinitySymbol negativeNormal negativePrefix
        negativeSubnormal negativeSuffix negativeZero negotiatedSSL nepal nepali nestedContainer nestedUnkeyedContainer
        netherlands networkConnectionLost networkDomainMask networkServiceType neuter never new newBackgroundContext
        newCaledonia newUUID newValue newVersionNumber newZealand newline newlines newtonsPerMetersSquared next nextDate
        nextDaylightSavingTimeTransition nextDown nextModel nextObject nextResult nextTime nextTimePreservingSmallerComponents
        nextUp nextWeekend nextWeekendAfter nextafter nextstep nibbles nicaragua nickname niger nigeria nilReferences
        nilSymbol niue noAction noActionDeleteRule noError noFileProtection noInput noPermissionsToReadFile noQoS nonBase
        nonBaseCharacters nonConformingFloatDecodingStrategy nonConformingFloatEncodingStrategy nonLossyASCII none
        nonspacingMark nonzeroBitCount norfolkIsland normal normalized northMacedonia northernMarianaIslands norway norwegian
        norwegianBokmål norwegianNynorsk not notANumber notANumberSymbol notConnectedToInternet notDirectory notEqualTo
        notOnQueue notOpen notRecomputed notReordered notes notify noun now nth nukta null nullDevice nullify
        nullifyDeleteRule number numberFormat numberFormatter numberOfCaptureGroups numberOfMatches numberOfRanges numberPart
        numberStyle numberSymbol numberingSystem numeral numeric numericCast numericType numericValue objCType object
        objectEnumerator objectForm objectID objectIDAttributeType objectIDs objectIsForced objectSnapshot objects
        objectsToInsert observe obstacle obtainPermanentIDs occurrences oddHalf odia offset offsetBy offsetInFile ohms olChiki
        old oldMember oldValue oldVersionNumber oman omit omitPaddingCharacter omitted onInvalid onLoss onName onQueue
        onQueueAsBarrier onSender onTermination one oneSidedLinks oneToTwelve oneToTwentyFour op open openCompleted
        openPunctuation openStep opening operand operatingSystemVersion operatingSystemVersionString operationCount operations
        optional options or order orderedAscending orderedDescending orderedSame ordinal ordinality origin orthography other
        otherEntity otherLetter otherMapping otherNumber otherPunctuation otherSourceIDs otherSymbol ounce ounces ouncesTroy
        outcome output outputFormat outputFormatting overflow overlaps overlay overlongEncodingByte overwrite
        overwriteMergePolicyType ownerAccountID ownerAccountName padding paddingCharacter paddingPosition pages pakistan palau
        palestinianTerritories panama papuaNewGuinea paragraph paragraphRange paragraphSeparator paraguay parameterString
        parent parentDirectory parentDirectoryURLKey parse parseScalar parseStrategy parsecs partOfSpeech
        partialIndexPredicate partialValue particle partition parts partsPerMillion pashto pass passNames passRetained
        passUnretained passedOver passes password passwordKey pastEnd patchVersion path pathComponents pathExtension pathKey
        paths pathsMatchingExtensions pattern pause pausingHandler pb peakMemory pebibits pebibytes perMillSymbol percent
        percentEncodedFragment percentEncodedHost percentEncodedPassword percentEncodedPath percentEncodedQuery
        percentEncodedQueryItems percentEncodedUser percentSymbol perform performAndWait performBackgroundTask
        performCustomValidation permission persian persistedSnapshot persistentDomain persistentHistoryTokenExpired
        persistentStore persistentStoreCoordinator persistentStoreCoordinatorLocking persistentStoreDescriptions
        persistentStoreIncompatibleSchema persistentStoreIncompatibleVersionHash persistentStoreIncompleteSave
        persistentStoreInvalidType persistentStoreOpen persistentStoreOperation persistentStoreSave
        persistentStoreSaveConflicts persistentStoreTimeout persistentStoreTypeMismatch persistentStoreUnsupportedRequestType
        persistentStores personNameComponent peru petabits petabytes phase philippines phoneNumber phonetic
        phoneticRepresentation physicalMemory pi picograms picometers picoseconds picowatts picturesDirectory pints
        pitcairnIslands plain plan playgroundDescription plural pluralFew pluralMany pluralTwo plus plusSign pmSymbol
        pointValue pointee pointer pointwiseMax pointwiseMin poland policies policy polish popFirst popLast port portKey
        portugal portuguese positiveFormat positiveInfinity positiveInfinitySymbol positiveNormal positivePrefix
        positiveSubnormal positiveSuffix positiveZero posix posixPermissions possessive possessiveAdjectiveForm possessiveForm
        post pound pounds poundsForcePerSquareInch pow powf precomposedStringWithCanonicalMapping
        precomposedStringWithCompatibilityMapping precondition preconditionFailure preconditionIsolated predecessor predicate
        predicateFormat predicateOperatorType preferencePanesDirectory preferredIOBlockSize preferredIOBlockSizeKey
        preferredLanguages preferredLocales preferredLocalizations prefix prefixMatch preflight prepareForDeletion prepend
        preposition preservesValueInHistoryOnDeletion prettyPrinted previous previousTimePreservingSmallerComponents
        primitiveValue principalClass print printerDescriptionDirectory printf prior priority privateFrameworksPath
        privateFrameworksURL privateQueue privateQueueConcurrencyType privateUse problem processIdentifier processInfo
        processName processPendingChanges processorCount processorSeconds produceFileReferenceURLs producesRelativePathURLs
        profile profiles progress projectedValue pronoun propagatesDeletesAtEndOfEvent properties propertiesByName
        propertiesToFetch propertiesToGroupBy propertiesToUpdate property propertyList propertyListReadCorrupt
        propertyListReadStream propertyListReadUnknownVersion propertyListWriteInvalid propertyListWriteStream propertyName
        protectionKey protocol protocolFamily pthread_mutex_lock pthread_mutex_unlock publish puertoRico punctuation
        punctuationCharacters punjabi qatar qos qosClass qualityOfService quarantineProperties quarantinePropertiesKey quarter
        quarterSymbols quarts query queryItems queuePriority quietNaN quotationBeginDelimiter quotationBeginDelimiterKey
        quotationEndDelimiter quotationEndDelimiterKey quote quotient quotientAndRemainder radians radix raiseException
        raising ranPolicies rand random randomElement range rangeOfCharacter rangeOfComposedCharacterSequence
        rangeOfComposedCharacterSequences rangeOfFirstMatch rangeOfFragment rangeOfHost rangeOfPassword rangeOfPath
        rangeOfPort rangeOfQuery rangeOfScheme rangeOfUser rangeValue rangeView ranges rawValue read
        readCompletionNotification readData readDataToEndOfFile readInBackgroundAndNotify readLine readToEnd
        readToEndOfFileInBackgroundAndNotify readabilityHandler reader reading real reason reasons receivePort receiving
        recomputed recoveryAttempter recoveryOptions recoverySuggestion rectValue recurrences redirectToNonExistentLocation
        redo reduce reference referenceCount reflexiveForm refresh refreshAllObjects refusal refuse regex region regionCode
        regions register registerFunctions registeredObject registeredObjects registrationDomain regular regularExpression
        regularExpressionCheckingResult reject rejectFile rejected rejectedByRule rejectedObjects rejects relate
        relatedGregorianYear relationship relationshipKeyPathsForPrefetching relationshipMappings relationships
        relationshipsByName relative relativePath relativePriority relativeString release reluctant remainder
        remainderReportingOverflow remedy removals remove removeAll removeAllActions removeAllCachedResourceValues
        removeAllIndexes removeAllObjects removeAttribute removeCachedResourceValue removeCharacters removeDependency
        removeEntityMappingType removeFirst removeItem removeLast removeLastObject removeObject removeObjects removeObserver
        removePersistentDomain removeSubrange removeSubranges removeSuite removeValue removeVolatileDomain removed
        removedReferences removingLastIndex removingPercentEncoding removingSubranges remquo rename renamingIdentifier repairs
        repeatElement repeatedTimePolicy repeatedValue repetitionBehavior replace replaceAttributes replaceBytes
        replaceCharacters replaceItem replaceItemAt replaceMatches replaceObject replaceObjects replaceOccurrences
        replacePersistentStore replaceSubrange replacement replacementIndex replacementObject replacementString replacing
        replacingAttributes replacingCharacters replacingOccurrences report reportCompletion reportProgress republicOfChina
        requestBodyStreamExhausted required requiredEnd requiredKeys requiresSecureCoding rerun reserveCapacity
        reservedSpaceLength reset resetBytes resetStandardUserDefaults resetSystemTimeZone resignCurrent resolution resolve
        resolveSymlinksInPath resolved resolvedModel resolves resolvingSymlinksInPath resourcePath resourceSpecifier
        resourceURL resourceUnavailable resourceValues restarts restore restricted result resultType resultTypeCount
        resultTypeObjectIDs resultTypeStatusOnly resume resumedAt resumingHandler retain retainsRegisteredObjects
        returnsDistinctResults returnsObjectsAsFaults reverse reverseObjectEnumerator reverseTransformedValue reversed
        reversedSortDescriptor revoke revolutions rhs right rightExpression rightToLeft rint rohingya rollback
        rollbackMergePolicyType romania romanian root rootEntity rootType rotate round rounded roundf rounding
        roundingBehavior roundingIncrement roundingMode rounds row rows rule rulesOfTheSource run runBoundaries runDetached
        runSynchronously runs runsPolicies russia russian rwanda réunion saintBarthélemy saintHelena saintKittsNevis
        saintLucia saintMartin saintPierreMiquelon saintVincentGrenadines same samePosition samoa samoan sample samples
        sanMarino sanskrit santali saturday saudiArabia save savedPlan scalarCount scalarValue scalbn scale scaleX
        scanCharacter scanCharacters scanCharactersFromSet scanDecimal scanDouble scanFloat scanHexDouble scanHexFloat
        scanHexInt32 scanHexInt64 scanInt scanInt32 scanInt64 scanLocation scanString scanUInt64 scanUnsignedLongLong scanUpTo
        scanUpToCharacters scanUpToCharactersFromSet scanUpToString scandinavianMiles schedule scheduleOneshot
        scheduleRepeating scheduledTimer schema schemaCookie scheme scientific script scriptCode searchBackwards searchRules
        second secondFraction secondaryGroupingSize seconds secondsFromGMT secondsSince1970 secureConnectionFailed
        secureUnarchiveFromDataTransformerName seek seekToEnd seekToEndOfFile self send sendPort senegal sentence sequence
        sequential serbia serbian serverCertificateHasBadDate serverCertificateHasUnknownRoot serverCertificateNotYetValid
        serverCertificateUntrusted set setArray setAttributedString setAttributes setCancelHandler setClass setClassName
        setCustomPronoun setData setDelegate setDictionary setEntities setErrorAndReturn setEventHandler setInterval setLimit
        setLocalizedDateFormatFromTemplate setMetadata setNilValueForKey setObject setOption setPersistentDomain setPositions
        setPrimitiveValue setProperty setRegistrationHandler setResourceValue setResourceValues setSet setSpecific setString
        setTarget setTemporaryResourceValue setUserInfoObject setUserInfoValueProvider setValidationPredicates setValue
        setValueTransformer setValuesForKeys setVolatileDomain settingAttributes seychelles shared sharedFrameworksPath
        sharedFrameworksURL sharedKeySet sharedPublicDirectory sharedSupportPath sharedSupportURL sharedUnownedExecutor shift
        shiftIndexesStarting shiftJIS short shortDaylightSaving shortGeneric shortMonthSymbols shortQuarterSymbols
        shortStandaloneMonthSymbols shortStandaloneQuarterSymbols shortStandaloneWeekdaySymbols shortStandard shortTons
        shortWeekdaySymbols shouldAddStoreAsynchronously shouldDeleteInaccessibleFaults shouldInferMappingModelAutomatically
        shouldMigrateStoreAutomatically shouldRefreshRefetchedObjects shuffle shuffled sierraLeone sign signal signalingNaN
        signbit significand significandBitCount significandBitPattern significandWidth signum simple sin sindhi singapore
        single singleValueContainer singular sinh sinhala sintMaarten size sizeValue skipBack skipDescendants skipForward
        skipHiddenVolumes skipsHiddenFiles skipsPackageDescendants skipsSubdirectoryDescendants sleep slovak slovakia slovenia
        slovenian slugs smallestEncoding snapshot socket socketSecurityLevelKey socketType socksProxyConfigurationKey
        solomonIslands somalia some sort sortDescriptors sortRange sorted sortedArray sortedArrayHint sortedKeys source
        sourceContext sourceEntity sourceEntityName sourceEntityVersionHash sourceExpression sourceID sourceInstances
        sourceIsKnownByTables sourceModel sourceObject sourceObjectID sourceObjects sourcePath sourceRows sourceVersion
        sourceVersionName southAfrica southGeorgiaSouthSandwichIslands southKorea southSudan space spaceSeparator spacingMark
        spain span spanish spawn spawnUnlessCancelled spellOut spelledOutValue spelling spilledBytes split sqlite
        sqlitePragmas sqrt sqrtf squareCentimeters squareFeet squareInches squareKilometers squareMegameters squareMeters
        squareMicrometers squareMiles squareMillimeters squareNanometers squareRoot squareYards srand srandom sriLanka ssLv2
        ssLv3 stable stackSize stage stagedMigrationBackwardMigration stagedMigrationFrameworkVersionMismatch stages
        stalenessInterval standalone standaloneMonthSymbols standaloneQuarterSymbols standaloneWeekdaySymbols standard
        standardError standardInput standardOutput standardize standardized standardizedFileURL standardizingPath start
        startDate startIndex startOfDay starts statusOnly statusOnlyResultType stderr stdout step steps stone stones stop
        storeBytes storeURL stray strays strcmp stream streamError streamStatus strftime strict strictInterval
        strictValidation stride string stringArray stringAttributeType stringByReplacingMatches stringEncoding
        stringRepresentation stringValue stringsByAppendingPaths stripCombiningMarks stripDiacritics strlen struct style
        subarray subdata subdivision subentities subentitiesByName subject subjectForm subjectType subpaths
        subpathsOfDirectory subpredicates subquery subranges subscript substring substringNotRequired subtract subtracting
        subtractingReportingOverflow success successor suffix suggestions sum sunday superDecoder superEncoder superclass
        superclassMirror superentity superentityName supportsSecureCoding suppressed suriname surplusToOne surrogate
        surrogateCodePointByte suspend suspending svalbardJanMayen swahili swap swapAt sweden swedish
        swift_unboxFromSwiftValueWithType switzerland symbol symbolicLink symbols symmetricDifference sync synchronize
        synchronizeFile syriac system systemDomainMask systemEpoch systemFileNumber systemFreeNodes systemFreeSize
        systemLanguages systemNodes systemNumber systemSize systemUptime systemVersion sãoToméPríncipe tX tY table tables
        tablespoons tagNames tagNamesKey tagalog taiwan tajik tajikistan take takeRetainedValue takeUnretainedValue
        takenForRejected tamil tan tanh tanzania tb teaspoons tebibits tebibytes telugu temporary temporaryDirectory terabits
        terabytes terahertz terawatts terminate terminated terminationHandler terminationReason terminationStatus test text
        textAttributesForNegativeInfinity textAttributesForNegativeValues textAttributesForNil textAttributesForNotANumber
        textAttributesForPositiveInfinity textAttributesForPositiveValues textAttributesForZero textChanged tgamma thaana thai
        thailand thousandSeparator threadDictionary through throughKey throughputKey throw thumbnailDictionaryKey thumbnailKey
        thursday tibetan time timeInterval timeIntervalBetween1970AndReferenceDate timeIntervalSince timeIntervalSince1970
        timeIntervalSinceNow timeIntervalSinceReferenceDate timeSeparator timeStyle timeZone timeZoneDataVersion
        timeZoneSeparator timedOut timeout timorLeste titlecaseLetter titlecaseMapping tlSv1 tm_hour tm_mday tm_min tm_mon
        tm_sec tm_year to toLatin toMemory toNearestOrAwayFromZero toNearestOrEven toOpaque toUnicodeName toXMLHex toggle togo
        tokelau tolerance tonga tongan top topToBottom totalCostLimit totalFileAllocatedSize totalFileAllocatedSizeKey
        totalFileSize totalFileSizeKey totalRows totalUnitCount towardZero trailSurrogate trailingZeroBitCount
        transactionAuthor transcode transcodedLength transform transformEntityMappingType transformStore transformStruct
        transformable transformableAttributeType transformedValue transformedValueClass transformingAttributes
        transformsValues transitInformation translate translateX trashDirectory trimPrefix trimmingCharacters trimmingPrefix
        trinidadTobago tristanDaCunha true trueBranch trunc truncate truncateFile truncatedScalar truncatingRemainder try
        tryLock tuesday tunisia tuple turkey turkish turkmen turkmenistan turksCaicosIslands tuvalu tv_nsec tv_sec tv_usec
        twoDigitStartDate type typeBlockSpecial typeCharacterSpecial typeDirectory typeIdentifier typeIdentifierKey
        typeMismatch typeRegular typeSocket typeSymbolicLink typeUnknown ubiquitousFileNotUploadedDueToQuota
        ubiquitousFileUbiquityServerNotAvailable ubiquitousFileUnavailable ubiquitousItemContainerDisplayName
        ubiquitousItemContainerDisplayNameKey ubiquitousItemDownloadRequested ubiquitousItemDownloadRequestedKey
        ubiquitousItemDownloadingError ubiquitousItemDownloadingErrorKey ubiquitousItemDownloadingStatusKey
        ubiquitousItemHasUnresolvedConflicts ubiquitousItemHasUnresolvedConflictsKey ubiquitousItemIsDownloading
        ubiquitousItemIsDownloadingKey ubiquitousItemIsUploaded ubiquitousItemIsUploadedKey ubiquitousItemIsUploading
        ubiquitousItemIsUploadingKey ubiquitousItemUploadingError ubiquitousItemUploadingErrorKey uganda uint16Value
        uint32Value uint64Value uint8Value uintValue uk ukraine ukrainian ulp ulpOfOne unarchiveFromDataTransformerName
        unarchiveObject unarchiveTopLevelObjectWithData unarchivedObject unarchiver unarchiverDidFinish unarchiverWillFinish
        unassigned unassociated unavailable unbounded uncached uncaughtSignal uncoded undecided undefined
        undefinedAttributeType undefinedEntityMappingType undefinedVariable underestimatedCount underflow underlying
        underlyingError underlyingErrors underlyingQueue undo undoDeletion undoInsertion undoManager undoUpdate unevaluated
        unexpectedContinuationByte unicode unicodeScalar unicodeScalars unicodeScalarsEqual unidentified union unionSet unique
        uniquenessConstraints unit unitString unitStringDisplayedAdjacent unitStyle unitedArabEmirates unitedKingdom
        unitedStates unitedStatesOutlyingIslands unitedStatesVirginIslands unkeyedContainer unknown unknownHashes unload
        unlock unmap unmappable unmapped unmigratedReferences unneeded unownedExecutor unownedTaskExecutor unread unsafeArgv
        unsafeBitCast unsafeDowncast unsafeLoad unsafeLoadUnaligned unsafelyUnwrapped unspecified unsupportedURL untouched up
        update updateValue updatedObjectIDsResultType updatedObjects updatedObjectsCountResultType updates upper upperBound
        uppercaseLetter uppercaseLetters uppercaseMapping uppercased uptimeNanoseconds urdu uri uriRepresentation url
        urlFragmentAllowed urlHostAllowed urlPasswordAllowed urlPathAllowed urlQueryAllowed urlUserAllowed urls uruguay us
        usage useAll useBytes useDefaultKeys useEB useGB useKB useMB usePB useTB useUnicodeWordBoundaries
        useUnixLineSeparators useYBOrHigher useZB user userActivityConnectionUnavailable userActivityHandoffFailed
        userActivityHandoffUserInfoTooLarge userActivityRemoteApplicationTimedOut userAuthenticationRequired userCancelled
        userCancelledAuthentication userDirectory userDomainMask userInfo userInfoValueProvider userInitiated userInteractive
        userKey userName usesGroupingSeparator usesMetricSystem usesScalarValueType usesSignificantDigits
        usesStoreSpecificMigrationManager usingNewMetadataOnly usleep utf16 utf16BigEndian utf16LittleEndian utf16Offset utf32
        utf32BigEndian utf32LittleEndian utf8 utf8CString utf8CodeUnitCount utf8Span utf8Start utf8String utility uuid
        uuidString uyghur uzbek uzbekistan valid validate validateForDelete validateForInsert validateForUpdate validateValue
        validationDateTooLate validationDateTooSoon validationInvalidDate validationKey validationMissingMandatoryProperty
        validationMultipleErrors validationNumberTooLarge validationNumberTooSmall validationObject validationPredicate
        validationPredicates validationRelationshipDeniedDelete validationRelationshipExceedsMaximumCount
        validationRelationshipLacksMinimumCount validationStringPatternMatching validationStringTooLong
        validationStringTooShort validationValue validationWarnings value valueClassName valueExpression valueNotFound
        valueTransformerName valueTransformerNames valueType values vanuatu variable variant variantCode vaticanCity venezuela
        verb verify version version4 version5 versionChecksum versionChecksums versionHash versionHashModifier
        versionIdentifiers versionKey versionName versions veryHigh veryLow veryShortMonthSymbols
        veryShortStandaloneMonthSymbols veryShortStandaloneWeekdaySymbols veryShortWeekdaySymbols via video vietnam vietnamese
        viewContext vikram violations virama voIP voice volatileDomain volatileDomainNames volts volume
        volumeAvailableCapacity volumeAvailableCapacityKey volumeCreationDate volumeCreationDateKey volumeIdentifier
        volumeIdentifierKey volumeIsAutomounted volumeIsAutomountedKey volumeIsBrowsable volumeIsBrowsableKey
        volumeIsEjectable volumeIsEjectableKey volumeIsEncrypted volumeIsEncryptedKey volumeIsInternal volumeIsInternalKey
        volumeIsJournaling volumeIsJournalingKey volumeIsLocal volumeIsLocalKey volumeIsReadOnly volumeIsReadOnlyKey
        volumeIsRemovable volumeIsRemovableKey volumeIsRootFileSystem volumeIsRootFileSystemKey
        volumeLocalizedFormatDescription volumeLocalizedFormatDescriptionKey volumeLocalizedName volumeLocalizedNameKey
        volumeMaximumFileSize volumeMaximumFileSizeKey volumeName volumeNameKey volumeResourceCount volumeResourceCountKey
        volumeSupportsAdvisoryFileLocking volumeSupportsAdvisoryFileLockingKey volumeSupportsCasePreservedNames
        volumeSupportsCasePreservedNamesKey volumeSupportsCaseSensitiveNames volumeSupportsCaseSensitiveNamesKey
        volumeSupportsCompression volumeSupportsCompressionKey volumeSupportsExclusiveRenamingKey
        volumeSupportsExtendedSecurity volumeSupportsExtendedSecurityKey volumeSupportsFileCloningKey volumeSupportsHardLinks
        volumeSupportsHardLinksKey volumeSupportsJournaling volumeSupportsJournalingKey volumeSupportsPersistentIDs
        volumeSupportsPersistentIDsKey volumeSupportsRenaming volumeSupportsRenamingKey volumeSupportsRootDirectoryDates
        volumeSupportsRootDirectoryDatesKey volumeSupportsSparseFiles volumeSupportsSparseFilesKey
        volumeSupportsSwapRenamingKey volumeSupportsSymbolicLinks volumeSupportsSymbolicLinksKey volumeSupportsVolumeSizes
        volumeSupportsVolumeSizesKey volumeSupportsZeroRuns volumeSupportsZeroRunsKey volumeTotalCapacity
        volumeTotalCapacityKey volumeURLForRemounting volumeURLForRemountingKey volumeURLKey volumeUUIDString
        volumeUUIDStringKey w wait waitForAll waitForDataInBackgroundAndNotify waitUntilAllOperationsAreFinished waitUntilExit
        waitUntilFinished waitsFor wallisFutuna warn warning warnings watts wednesday weekOfMonth weekOfYear weekday
        weekdayOrdinal weekdaySymbols weekdays weekly weeks welsh westernSahara whenIdle whitespace whitespaceAndNewline
        whitespaces whitespacesAndNewlines wholeMatch wholeNumberValue why width widthInsensitive willAccessValue
        willChangeValue willMigrateHandler willSave willSaveObjectsNotification willTurnIntoFault windowsCP1250 windowsCP1251
        windowsCP1252 windowsCP1253 windowsCP1254 windowsLocaleCode withCString withCancellationHandler
        withCheckedContinuation withCheckedThrowingContinuation withColonSeparatorInTime withColonSeparatorInTimeZone
        withContiguousMutableStorageIfAvailable withContiguousStorageIfAvailable withDashSeparatorInDate withDay
        withDecodedUnsafeBufferPointer withDecodedUnsafeBytes withDiscardingTaskGroup withExtendedLifetime
        withFileSystemRepresentation withFractionalSeconds withFullDate withFullTime withGroup withInternetDateTime withLock
        withMemoryRebound withMonth withMutableCharacters withSerialExecutor withSpaceBetweenDateAndTime
        withSubstitutionVariables withTaskCancellationHandler withTaskExecutorPreference withTaskGroup
        withTaskPriorityEscalationHandler withThrowingDiscardingTaskGroup withThrowingTaskGroup withTime withTimeZone
        withTransparentBounds withUTF8 withUTF8Buffer withUnsafeBufferPointer withUnsafeBytes withUnsafeContinuation
        withUnsafeCurrentTask withUnsafeFileSystemRepresentation withUnsafeMutableBufferPointer withUnsafeMutableBytes
        withUnsafeMutablePointer withUnsafeMutablePointerToElements withUnsafeMutablePointerToHeader withUnsafeMutablePointers
        withUnsafePointer withUnsafeTemporaryAllocation withUnsafeThrowingContinuation withVaList withValue withWeekOfYear
        withYear withoutActuallyEscaping withoutAnchoringBounds withoutDeletingBackupItem withoutEscapingSlashes
        withoutMapping withoutOverwriting withoutUI wordBoundaryKind words work workBytes workDirectory workItem world
        wrapComponents wrapped wrappedSum wrappedValue write writeJSONObject writeabilityHandler writer writing
        writingDirection x xml xpcConnectionInterrupted xpcConnectionInvalid xpcConnectionReplyInvalid y y0 y1 yard yards yb
        year yearForWeekOfYear yearly yemen yiddish yield yn yobibits yobibytes yottabits yottabytes z zambia zb zebibits
        zebibytes zero zeroByteResource zeroPadsFractionDigits zeroSymbol zeroToEleven zeroToTwentyThree zettabits zettabytes
        zimbabwe zip
        """#
}
