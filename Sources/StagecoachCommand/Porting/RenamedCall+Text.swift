extension RenamedCall {
    /// Methods and initialisers that older versions of Swift called by another name: the old name, then today's.
    /// "policy" marks the methods that policies override.
    static let text = #"""
        beginEntityMapping(_:manager:) begin(_:with:) policy
        begin(_:manager:) begin(_:with:) policy
        createDestinationInstancesForSourceInstance(_:entityMapping:manager:) createDestinationInstances(forSource:in:manager:) policy
        createDestinationInstances(forSourceInstance:entityMapping:manager:) createDestinationInstances(forSource:in:manager:) policy
        createDestinationInstances(forSource:entityMapping:manager:) createDestinationInstances(forSource:in:manager:) policy
        endInstanceCreationForEntityMapping(_:manager:) endInstanceCreation(forMapping:manager:) policy
        endInstanceCreation(forEntityMapping:manager:) endInstanceCreation(forMapping:manager:) policy
        createRelationshipsForDestinationInstance(_:entityMapping:manager:) createRelationships(forDestination:in:manager:) policy
        createRelationships(forDestinationInstance:entityMapping:manager:) createRelationships(forDestination:in:manager:) policy
        createRelationships(forDestination:entityMapping:manager:) createRelationships(forDestination:in:manager:) policy
        endRelationshipCreationForEntityMapping(_:manager:) endRelationshipCreation(forMapping:manager:) policy
        endRelationshipCreation(forEntityMapping:manager:) endRelationshipCreation(forMapping:manager:) policy
        performCustomValidationForEntityMapping(_:manager:) performCustomValidation(forMapping:manager:) policy
        performCustomValidation(forEntityMapping:manager:) performCustomValidation(forMapping:manager:) policy
        endEntityMapping(_:manager:) end(_:manager:) policy
        destinationInstancesForEntityMappingNamed(_:sourceInstances:) destinationInstances(forEntityMappingName:sourceInstances:)
        destinationInstances(forEntityMappingNamed:sourceInstances:) destinationInstances(forEntityMappingName:sourceInstances:)
        sourceInstancesForEntityMappingNamed(_:destinationInstances:) sourceInstances(forEntityMappingName:destinationInstances:)
        sourceInstances(forEntityMappingNamed:destinationInstances:) sourceInstances(forEntityMappingName:destinationInstances:)
        associateSourceInstance(_:withDestinationInstance:forEntityMapping:) associate(sourceInstance:withDestinationInstance:for:)
        sourceEntityForEntityMapping(_:) sourceEntity(for:)
        destinationEntityForEntityMapping(_:) destinationEntity(for:)
        valueForKey(_:) value(forKey:)
        valueForKeyPath(_:) value(forKeyPath:)
        primitiveValueForKey(_:) primitiveValue(forKey:)
        mutableSetValueForKey(_:) mutableSetValue(forKey:)
        mutableOrderedSetValueForKey(_:) mutableOrderedSetValue(forKey:)
        dictionaryWithValuesForKeys(_:) dictionaryWithValues(forKeys:)
        setValuesForKeysWithDictionary(_:) setValuesForKeys(_:)
        insertNewObjectForEntityForName(_:inManagedObjectContext:) insertNewObject(forEntityName:into:)
        entityForName(_:inManagedObjectContext:) entity(forEntityName:in:)
        NSManagedObject(entity:insertIntoManagedObjectContext:) NSManagedObject(entity:insertInto:)
        executeFetchRequest(_:) fetch(_:)
        insertObject(_:) insert(_:)
        deleteObject(_:) delete(_:)
        objectWithID(_:) object(with:)
        existingObjectWithID(_:) existingObject(with:)
        URIRepresentation() uriRepresentation()
        managedObjectIDForURIRepresentation(_:) managedObjectID(forURIRepresentation:)
        performBlockAndWait(_:) performAndWait(_:)
        componentsSeparatedByString(_:) components(separatedBy:)
        componentsSeparatedByCharactersInSet(_:) components(separatedBy:)
        componentsJoinedByString(_:) componentsJoined(by:)
        stringByTrimmingCharactersInSet(_:) trimmingCharacters(in:)
        stringByReplacingOccurrencesOfString(_:withString:) replacingOccurrences(of:with:)
        stringByAppendingString(_:) appending(_:)
        isEqualToString(_:) isEqual(to:)
        timeIntervalSinceDate(_:) timeIntervalSince(_:)
        dateByAddingTimeInterval(_:) addingTimeInterval(_:)
        addObject(_:) add(_:)
        removeObject(_:) remove(_:)
        containsObject(_:) contains(_:)
        NSNumber(integer:) NSNumber(value:)
        NSNumber(int:) NSNumber(value:)
        NSNumber(short:) NSNumber(value:)
        NSNumber(longLong:) NSNumber(value:)
        NSNumber(double:) NSNumber(value:)
        NSNumber(float:) NSNumber(value:)
        NSNumber(bool:) NSNumber(value:)
        # Foundation and Swift's library. A name without parentheses is a type or constant (with a capital letter) or a property.
        # "swift2" marks names that are replaced only in a source for Swift 2; "try?_" an initialiser that throws today.
        NSBundle Bundle
        NSFileManager FileManager
        NSFileHandle FileHandle
        NSDateFormatter DateFormatter
        NSNumberFormatter NumberFormatter
        NSByteCountFormatter ByteCountFormatter
        NSUserDefaults UserDefaults
        NSProcessInfo ProcessInfo
        NSNotificationCenter NotificationCenter
        NSOperationQueue OperationQueue
        NSOperation Operation
        NSBlockOperation BlockOperation
        NSThread Thread
        NSTimer Timer
        NSScanner Scanner
        NSInputStream InputStream
        NSOutputStream OutputStream
        NSJSONSerialization JSONSerialization
        NSPropertyListSerialization PropertyListSerialization
        NSXMLParser XMLParser
        NSURLSession URLSession
        NSHTTPURLResponse HTTPURLResponse
        ErrorType Error
        SequenceType Sequence
        CollectionType Collection
        GeneratorType IteratorProtocol
        NSStringEncoding String.Encoding
        NSUTF8StringEncoding String.Encoding.utf8
        NSUTF16StringEncoding String.Encoding.utf16
        NSASCIIStringEncoding String.Encoding.ascii
        __FUNCTION__ #function
        __FILE__ #file
        __LINE__ #line
        NSDate Date swift2
        NSData Data swift2
        NSURL URL swift2
        NSCalendar Calendar swift2
        NSLocale Locale swift2
        NSTimeZone TimeZone swift2
        NSCharacterSet CharacterSet swift2
        NSDateComponents DateComponents swift2
        NSUUID UUID swift2
        NSIndexSet IndexSet swift2
        NSURLRequest URLRequest swift2
        NSNotification Notification swift2
        NSData(contentsOfURL:) try?_Data(contentsOf:)
        NSData(contentsOfFile:) FileManager.default.contents(atPath:)
        NSLocale(localeIdentifier:) Locale(identifier:)
        NSTimeZone(forSecondsFromGMT:) TimeZone(secondsFromGMT:)
        NSTimeZone(name:) TimeZone(identifier:) swift2
        NSUUID(UUIDString:) UUID(uuidString:)
        NSNumber(unsignedInteger:) NSNumber(value:)
        NSNumber(long:) NSNumber(value:)
        NSNumber(unsignedInt:) NSNumber(value:)
        mainBundle() main
        defaultManager() default
        standardUserDefaults() standard
        processInfo() processInfo
        defaultCenter() default
        currentCalendar() current
        currentLocale() current
        systemLocale() current
        localTimeZone() current
        systemTimeZone() current
        defaultTimeZone() current
        mainQueue() main
        currentThread() current
        whitespaceCharacterSet() whitespaces
        whitespaceAndNewlineCharacterSet() whitespacesAndNewlines
        newlineCharacterSet() newlines
        decimalDigitCharacterSet() decimalDigits
        letterCharacterSet() letters
        alphanumericCharacterSet() alphanumerics
        punctuationCharacterSet() punctuationCharacters
        characterSetWithCharactersInString(_:) init(charactersIn:)
        invertedSet inverted
        lowercaseString lowercased()
        uppercaseString uppercased()
        capitalizedString capitalized
        UUIDString uuidString
        memory pointee swift2
        integerValue intValue
        unsignedIntegerValue uintValue
        longLongValue int64Value
        shortValue int16Value swift2
        URLByDeletingLastPathComponent deletingLastPathComponent()
        URLByDeletingPathExtension deletingPathExtension()
        sort sorted swift2
        sortInPlace sort
        enumerate() enumerated()
        reverse() reversed() swift2
        joinWithSeparator(_:) joined(separator:)
        indexOf(_:) firstIndex(of:)
        minElement() min()
        maxElement() max()
        appendContentsOf(_:) append(contentsOf:)
        removeAtIndex(_:) remove(at:)
        insert(_:atIndex:) insert(_:at:)
        unionInPlace(_:) formUnion(_:)
        exclusiveOr(_:) symmetricDifference(_:)
        intersect(_:) intersection(_:) swift2
        rangeOfString(_:) range(of:)
        rangeOfString(_:options:) range(of:options:)
        dataUsingEncoding(_:) data(using:)
        dateFromString(_:) date(from:)
        stringFromDate(_:) string(from:)
        numberFromString(_:) number(from:)
        stringFromNumber(_:) string(from:)
        dateFromComponents(_:) date(from:)
        JSONObjectWithData(_:options:) jsonObject(with:options:)
        dataWithJSONObject(_:options:) data(withJSONObject:options:)
        URLsForDirectory(_:inDomains:) urls(for:in:)
        URLForDirectory(_:inDomain:appropriateForURL:create:) url(for:in:appropriateFor:create:)
        URLByAppendingPathComponent(_:) appendingPathComponent(_:)
        URLByAppendingPathComponent(_:isDirectory:) appendingPathComponent(_:isDirectory:)
        URLByAppendingPathExtension(_:) appendingPathExtension(_:)
        stringByAppendingPathComponent(_:) appendingPathComponent(_:)
        URLForResource(_:withExtension:) url(forResource:withExtension:)
        URLForResource(_:withExtension:subdirectory:) url(forResource:withExtension:subdirectory:)
        pathForResource(_:ofType:) path(forResource:ofType:)
        objectForInfoDictionaryKey(_:) object(forInfoDictionaryKey:)
        fileExistsAtPath(_:) fileExists(atPath:)
        contentsAtPath(_:) contents(atPath:)
        removeItemAtPath(_:) removeItem(atPath:)
        removeItemAtURL(_:) removeItem(at:)
        moveItemAtURL(_:toURL:) moveItem(at:to:)
        moveItemAtPath(_:toPath:) moveItem(atPath:toPath:)
        copyItemAtURL(_:toURL:) copyItem(at:to:)
        copyItemAtPath(_:toPath:) copyItem(atPath:toPath:)
        createDirectoryAtPath(_:withIntermediateDirectories:attributes:) createDirectory(atPath:withIntermediateDirectories:attributes:)
        createDirectoryAtURL(_:withIntermediateDirectories:attributes:) createDirectory(at:withIntermediateDirectories:attributes:)
        contentsOfDirectoryAtPath(_:) contentsOfDirectory(atPath:)
        writeToURL(_:options:) write(to:options:)
        objectForKey(_:) object(forKey:)
        stringForKey(_:) string(forKey:)
        boolForKey(_:) bool(forKey:)
        integerForKey(_:) integer(forKey:)
        doubleForKey(_:) double(forKey:)
        setBool(_:forKey:) set(_:forKey:)
        setInteger(_:forKey:) set(_:forKey:)
        setDouble(_:forKey:) set(_:forKey:)
        setFloat(_:forKey:) set(_:forKey:)
        removeObjectForKey(_:) removeObject(forKey:)
        unarchiveObjectWithData(_:) unarchiveObject(with:)
        archivedDataWithRootObject(_:) archivedData(withRootObject:)
        decodeObjectForKey(_:) decodeObject(forKey:)
        encodeObject(_:forKey:) encode(_:forKey:)
        performBlock(_:) perform(_:)
        refreshObject(_:mergeChanges:) refresh(_:mergeChanges:)
        obtainPermanentIDsForObjects(_:) obtainPermanentIDs(for:)
        components(_:fromDate:) dateComponents(_:from:)
        components(_:fromDate:toDate:options:) dateComponents(_:from:to:)
        substringToIndex(_:) substring(to:)
        substringFromIndex(_:) substring(from:)
        substringWithRange(_:) substring(with:)
        """#
}
