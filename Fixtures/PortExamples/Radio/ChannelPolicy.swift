import CoreData

/// Inherits from a policy in Objective-C, of which the copies have a skeleton.
final class ChannelPolicy: RadioBasePolicy {
    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.end(mapping, manager: manager)
    }
}
