import Stagecoach

/// Sets relationships by hand: lookups of other mappings, sets and ordered sets.
final class RelatingPolicy: NSEntityMigrationPolicy {
    override func createRelationships(
        forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
        guard
            let source = manager.sourceInstances(
                forEntityMappingName: mapping.name, destinationInstances: [dInstance]
            ).first
        else { return }
        if let writer = source.value(forKey: "writer") as? NSManagedObject {
            let authors = manager.destinationInstances(
                forEntityMappingName: "WriterToAuthor", sourceInstances: [writer])
            dInstance.setValue(authors.first, forKey: "author")
        }
        let chapters = source.value(forKey: "chapters") as? NSOrderedSet ?? []
        let made = manager.destinationInstances(
            forEntityMappingName: "ChapterToChapter", sourceInstances: chapters.array as? [NSManagedObject])
        dInstance.setValue(NSOrderedSet(array: made.reversed()), forKey: "chapters")
    }
}

/// Finds or creates by a fetch with an equality predicate, one for each object.
final class GenrePolicy: NSEntityMigrationPolicy {
    private func genre(named name: String, in context: NSManagedObjectContext) throws -> NSManagedObject {
        let fetchRequest = NSFetchRequest<NSFetchRequestResult>(entityName: "Genre")
        fetchRequest.predicate = NSPredicate(format: "name == %@", name)
        fetchRequest.fetchLimit = 1
        if let known = try context.fetch(fetchRequest).first as? NSManagedObject { return known }
        let genre = NSEntityDescription.insertNewObject(forEntityName: "Genre", into: context)
        genre.setValue(name, forKey: "name")
        return genre
    }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        let book = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])[0]
        let tags = (sInstance.value(forKey: "tags") as? String)?.split(separator: ",").map(String.init) ?? []
        var genres = Set<NSManagedObject>()
        for tag in tags {
            genres.insert(try genre(named: tag, in: book.managedObjectContext!))
        }
        book.setValue(genres, forKey: "genres")
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Genre")
        request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let genres = try manager.destinationContext.fetch(request)
        for (rank, genre) in genres.enumerated() {
            let books = genre.value(forKey: "books") as? Set<NSManagedObject> ?? []
            let set = genre.value(forKey: "books") as? NSSet
            genre.setValue(set?.count == books.count ? rank : -1, forKey: "rank")
        }
        try super.end(mapping, manager: manager)
    }
}

/// Mutable sets, deletion, and what is registered.
final class MutablePolicy: NSEntityMigrationPolicy {
    private var kept: [NSManagedObject] = []

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        try super.begin(mapping, with: manager)
        kept = []
    }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        kept += manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
    }

    override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let genre = NSEntityDescription.insertNewObject(forEntityName: "Genre", into: manager.destinationContext)
        genre.setValue("all", forKey: "name")
        let books = genre.mutableSetValue(forKey: "books")
        for book in kept where !book.isFault {
            books.add(book)
        }
        let extra = NSEntityDescription.insertNewObject(forEntityName: "Genre", into: manager.destinationContext)
        manager.destinationContext.delete(extra)
        let registered = manager.destinationContext.registeredObjects.filter { $0.entity.name == "Book" }
        genre.setValue(registered.count >= kept.count ? kept.count : -1, forKey: "rank")
    }

    override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        for book in kept {
            let genres = book.value(forKey: "genres") as? Set<NSManagedObject>
            guard genres?.count == 1 else {
                throw NSError(domain: NSCocoaErrorDomain, code: NSManagedObjectValidationError)
            }
        }
    }
}

/// Predicates of the forms that policies use.
final class PredicatePolicy: NSEntityMigrationPolicy {
    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let context = manager.destinationContext
        func titles(_ predicate: NSPredicate) throws -> [String] {
            let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
            request.predicate = predicate
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
            return try context.fetch(request).compactMap { $0.value(forKey: "title") as? String }
        }
        let all = NSFetchRequest<NSManagedObject>(entityName: "Book")
        let first = try context.fetch(all)[0]
        let found = [
            try titles(NSPredicate(format: "title == %@", "Emma")),
            try titles(NSPredicate(format: "title = %@ AND pages > %d", "Emma", 100)),
            try titles(NSPredicate(format: "%K == %@", "title", "Dune")),
            try titles(NSPredicate(format: "title IN %@", ["Emma", "Dune", "none"])),
            try titles(NSPredicate(format: "SELF == %@", first)),
            try titles(NSPredicate(format: "NOT (SELF IN %@)", [first])),
            try titles(NSPredicate(format: "isbn == nil")),
        ]
        let count = try context.count(for: all)
        first.setValue("\(count) " + found.map { $0.joined(separator: ",") }.joined(separator: ";"), forKey: "note")
    }
}

/// Ids, URIs, the coordinator and the store behind a context.
final class IdentityPolicy: NSEntityMigrationPolicy {
    override func createRelationships(
        forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance])[0]
        let context = manager.sourceContext
        let uri = source.objectID.uriRepresentation()
        guard let coordinator = context.persistentStoreCoordinator,
            let id = coordinator.managedObjectID(forURIRepresentation: uri), id == source.objectID,
            context.object(with: id) === source, try context.existingObject(with: id) === source,
            let store = coordinator.persistentStores.first,
            let uuid = store.metadata[NSStoreUUIDKey] as? String, uuid == uri.host?.uppercased() || uuid == uri.host
        else {
            throw NSError(domain: NSCocoaErrorDomain, code: NSMigrationError)
        }
        dInstance.setValue("\(uri.lastPathComponent) \(store.url?.lastPathComponent ?? "")", forKey: "note")
    }
}
