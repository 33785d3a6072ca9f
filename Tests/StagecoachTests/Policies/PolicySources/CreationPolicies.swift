import Stagecoach

// As people write them for Core Data; only the import line is ours.

/// Calls super, finds what it made, changes it.
final class SuperPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)

        guard
            let dInstance = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first
        else { fatalError("must return book") }
        let title = sInstance.value(forKey: "title") as? String ?? ""
        dInstance.setValue(title.uppercased(), forKey: "title")
    }
}

/// Makes and associates the object itself, by the mapping's names and the entity's attributes.
final class HandmadePolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        guard mapping.sourceEntityName == "Book", sInstance.entity.name == "Book" else { return }
        let sourceKeys = Array(sInstance.entity.attributesByName.keys)
        let sourceValues = sInstance.dictionaryWithValues(forKeys: sourceKeys)

        let dInstance = NSEntityDescription.insertNewObject(
            forEntityName: mapping.destinationEntityName!, into: manager.destinationContext)
        let destinationKeys = dInstance.entity.attributesByName.keys
        for key in destinationKeys {
            if let value = sourceValues[key], !(value is NSNull) {
                dInstance.setValue(value, forKey: key)
            }
        }
        if dInstance.entity.relationshipsByName["author"]?.isToMany == false {
            dInstance.setValue("by hand", forKey: "note")
        }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: dInstance, for: mapping)
    }
}

/// Takes numbers and missing values out of one object and puts them all into another.
final class DictionaryPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let values = sInstance.dictionaryWithValues(forKeys: ["title", "pages", "isbn"])
        let book = NSManagedObject(
            entity: NSEntityDescription.entity(forEntityName: "Book", in: manager.destinationContext)!,
            insertInto: manager.destinationContext)
        book.setValuesForKeys(values)
        let missing = values.values.filter { $0 is NSNull }.count
        book.setValue("\(missing) missing", forKey: "note")
        manager.associate(sourceInstance: sInstance, withDestinationInstance: book, for: mapping)
    }
}

/// Numbers as NSNumber, in signatures and casts, and as Swift's own.
final class NumberPolicy: NSEntityMigrationPolicy {
    func pagesPerDay(forPages pages: NSNumber, days: NSNumber) -> NSNumber {
        NSNumber(value: pages.intValue / max(1, days.intValue))
    }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        let book = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])[0]
        let number = sInstance.value(forKey: "pages") as! NSNumber
        let int = sInstance.value(forKey: "pages") as? Int ?? -1
        let int32 = sInstance.value(forKey: "pages") as? Int32 ?? -1
        let int64 = sInstance.value(forKey: "pages") as? Int64 ?? -1
        let double = sInstance.value(forKey: "pages") as? Double ?? -1
        let price = sInstance.value(forKey: "price") as? NSDecimalNumber
        let all = number.intValue + int + Int(int32) + Int(int64) + Int(double)
        book.setPrimitiveValue(all, forKey: "pages")
        book.setValue("\(price ?? 0) \(pagesPerDay(forPages: number, days: 7))", forKey: "note")
    }
}

/// Drops some, splits others, merges the rest.
final class SplitPolicy: NSEntityMigrationPolicy {
    private var merged: NSManagedObject?

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let title = sInstance.primitiveValue(forKey: "title") as! String
        switch title {
        case "Dune":
            return
        case "Emma":
            for part in 1...2 {
                let book = NSManagedObject(
                    entity: manager.destinationEntity(for: mapping)!, insertInto: manager.destinationContext)
                book.setValue("\(title) \(part)", forKey: "title")
                manager.associate(sourceInstance: sInstance, withDestinationInstance: book, for: mapping)
            }
        default:
            if merged == nil {
                merged = NSEntityDescription.insertNewObject(
                    forEntityName: "Book", into: manager.destinationContext)
                merged?.setValue("Collected", forKey: "title")
            }
            manager.associate(sourceInstance: sInstance, withDestinationInstance: merged!, for: mapping)
        }
    }
}

/// Branches on the mapping's userInfo and sets an expression before super runs it.
final class ExpressionPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let suffix = mapping.userInfo?["suffix"] as? String ?? "none"
        for attributeMapping in mapping.attributeMappings ?? [] {
            switch attributeMapping.name {
            case "note":
                attributeMapping.valueExpression = NSExpression(forConstantValue: "note " + suffix)
            case "year":
                attributeMapping.valueExpression = NSExpression(format: "$source.pages + %d", 1000)
            case "title":
                // A partial context: the expression asks for $source only.
                let value = attributeMapping.valueExpression?.expressionValue(
                    with: nil, context: [NSMigrationSourceObjectKey: sInstance])
                manager.userInfo = (manager.userInfo ?? [:]).merging([value as! String: suffix]) { $1 }
            default: break
            }
        }
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    }
}

/// Reads a key path through a relationship, and Swift key paths of strings.
final class KeyPathPolicy: NSEntityMigrationPolicy {
    private enum Keys { static let writerName = "writer.name" }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        let lengths = ["a", "bcd"].map(\.count).reduce(0, +)
        let book = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first
        let writer = sInstance.value(forKeyPath: Keys.writerName) as? String
        book?.setValue("\(writer ?? "nobody") \(lengths)", forKey: "note")
    }
}
