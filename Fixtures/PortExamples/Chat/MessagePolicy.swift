import CoreData
import SwiftyBeaver

/// One conversation for each pair of people. Written for Swift 3, with the names of its first betas.
class MessagePolicy: NSEntityMigrationPolicy {
    fileprivate var conversations: [String: NSManagedObject] = [:]

    required override init() {
        super.init()
    }

    override func begin(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.begin(mapping, manager: manager)
        SwiftyBeaver.info("messages", context: mapping.name)
    }

    override func createDestinationInstances(forSourceInstance sInstance: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.createDestinationInstances(forSourceInstance: sInstance, entityMapping: mapping, manager: manager)
        let message = manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: [sInstance]).first!
        let people = ["sender", "receiver"].compactMap { MessagePolicy.name(of: sInstance.value(forKey: $0) as? NSObject) }
        let key = people.sorted().joined(separator: "\u{1F}")
        let conversation: NSManagedObject
        if let known = conversations[key] {
            conversation = known
        } else {
            let entity = NSEntityDescription.entity(forEntityName: "Conversation", in: manager.destinationContext)!
            conversation = NSManagedObject(entity: entity, insertInto: manager.destinationContext)
            conversations[key] = conversation
        }
        conversation.mutableSetValue(forKey: "messages").add(message)
        conversation.setValue(Sorting.Order(rawValue: 1)?.rawValue, forKey: "order")
    }

    private static func name(of person: NSObject?) -> String? {
        guard let person = person else { return nil }
        return person.value(forKey: "name") as? String
    }

    override func createRelationships(forDestinationInstance dInstance: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        // The conversation relates its messages.
    }

    override func endInstanceCreation(forEntityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        for conversation in conversations.values {
            let messages = conversation.value(forKey: "messages") as? NSSet ?? []
            let dates = messages.compactMap { ($0 as AnyObject).value(forKey: "sent") as? Date }
            conversation.setValue(dates.max(), forKey: "latest")
        }
    }
}
