import Stagecoach

/// TML: a number that was text.
class TextToNumberPolicy: NSEntityMigrationPolicy {
    var keys: [String] { [] }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let item = NSEntityDescription.insertNewObject(
            forEntityName: mapping.destinationEntityName!, into: manager.destinationContext)
        for key in keys {
            guard let text = sInstance.value(forKey: key) as? String, let number = Int32(text) else {
                throw NSError(
                    domain: NSCocoaErrorDomain, code: NSEntityMigrationPolicyError,
                    userInfo: [NSLocalizedDescriptionKey: "\(key) is no number"])
            }
            item.setValue(number, forKey: key)
        }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: item, for: mapping)
    }
}

final class SimpleItemMigrationPolicy1to2: TextToNumberPolicy {
    override var keys: [String] { ["id1"] }
}
final class MultiItem1MigrationPolicy1to2: TextToNumberPolicy {
    override var keys: [String] { ["id1"] }
}
final class MultiItem2MigrationPolicy1to2: TextToNumberPolicy {
    override var keys: [String] { ["id2"] }
}

/// jdspoone: one policy for two steps, told apart by the mapping's userInfo.
final class NoteToNotePolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let version = mapping.userInfo?["sourceVersion"] as? String, version == "v1.1",
            let data = sInstance.value(forKey: "imageData") as? Data,
            let note = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first
        else { return }
        let image = NSEntityDescription.insertNewObject(forEntityName: "Image", into: manager.destinationContext)
        image.setValue(data, forKey: "imageData")
        note.setValue(image, forKey: "image")
    }
}

final class ImageToImagePolicy: NSEntityMigrationPolicy {
    override func createRelationships(
        forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        guard mapping.userInfo?["sourceVersion"] as? String == "v1.2" else { return }
        let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance])
        guard let old = source.first?.value(forKey: "noteUsedIn") as? NSManagedObject else { return }
        let note = manager.destinationInstances(forEntityMappingName: "NoteToNote", sourceInstances: [old]).first
        dInstance.setValue(note, forKey: "noteUsedIn")
        dInstance.setValue(0, forKey: "index")
    }
}

/// Flapjack: a number becomes text.
final class MockMigrationPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let entity = NSManagedObject(
            entity: manager.destinationEntity(for: mapping)!, insertInto: manager.destinationContext)
        entity.setValue(sInstance.value(forKey: "addedProperty"), forKey: "addedProperty")
        if let number = sInstance.value(forKey: "renamedProperty") as? Int32 {
            entity.setValue("\(number)", forKey: "convertedProperty")
        }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: entity, for: mapping)
    }
}

/// CoreStore: what the new attributes say follows from an old one.
final class Advanced_EvolutionDemo_V2_FromV1MigrationPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        for creature in manager.destinationInstances(
            forEntityMappingName: mapping.name, sourceInstances: [sInstance])
        {
            let flagella = sInstance.value(forKey: "numberOfFlagella") as? NSNumber ?? 0
            creature.setValue(flagella.intValue > 0, forKey: "hasTail")
            creature.setValue(flagella.intValue / 2, forKey: "numberOfFlippers")
        }
    }
}

/// nova-wallet: an account of one chain becomes one of several; the first is selected.
final class SingleToMultiassetMigrationPolicy: NSEntityMigrationPolicy {
    private var isSelected = false

    override func createDestinationInstances(
        forSource accountItem: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: accountItem, in: mapping, manager: manager)
        guard
            let metaAccount = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [accountItem]
            ).first, let key = accountItem.value(forKey: "publicKey") as? Data
        else { return }
        metaAccount.setValue(key.map { String(format: "%02x", $0) }.joined(), forKey: "substrateAccountId")
        metaAccount.setValue(UUID().uuidString, forKey: "metaId")
        metaAccount.setValue(accountItem.value(forKey: "order"), forKey: "order")
        metaAccount.setValue(!isSelected, forKey: "isSelected")
        isSelected = true
    }
}
