// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

// Core Data's notifications, and the keys of their user info. Nothing here posts one: a migration saves once, and
// ``MigrationManager/migrateStore(from:type:options:mapping:to:type:options:)`` returns afterwards.

extension Notification.Name {
    /// Core Data's notification of this name, which is never posted here.
    public static let NSManagedObjectContextWillSave = Notification.Name("NSManagedObjectContextWillSaveNotification")
    /// Core Data's notification of this name, which is never posted here.
    public static let NSManagedObjectContextDidSave = Notification.Name("NSManagingContextDidSaveChangesNotification")
    /// Core Data's notification of this name, which is never posted here.
    public static let NSManagedObjectContextObjectsDidChange = Notification.Name(
        "NSObjectsChangedInManagingContextNotification")
    /// Core Data's notification of this name, which is never posted here.
    public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name(
        "NSPersistentStoreCoordinatorStoresWillChangeNotification")
    /// Core Data's notification of this name, which is never posted here.
    public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
        "_NSPersistentStoreCoordinatorStoresDidChangeNotification")
    /// Core Data's notification of this name, which is never posted here.
    public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
        "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
    /// Core Data's notification of this name, which is never posted here.
    public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
}

/// The objects, in the user info of Core Data's notifications.
public let NSInsertedObjectsKey = "inserted"
/// The objects, in the user info of Core Data's notifications.
public let NSUpdatedObjectsKey = "updated"
/// The objects, in the user info of Core Data's notifications.
public let NSDeletedObjectsKey = "deleted"
/// The objects, in the user info of Core Data's notifications.
public let NSRefreshedObjectsKey = "refreshed"
/// The objects, in the user info of Core Data's notifications.
public let NSInvalidatedObjectsKey = "invalidated"
/// The objects, in the user info of Core Data's notifications.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
