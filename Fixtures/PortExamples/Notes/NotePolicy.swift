import CoreData
import UIKit

/// Gives notes without a folder the one that is called as their first tag, and drops empty notes.
@objc(NTNotePolicy)
class NotePolicy: NSEntityMigrationPolicy {

    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let title = sInstance.value(forKey: #keyPath(Note.title)) as? String ?? ""
        let body = sInstance.primitiveValue(forKey: #keyPath(Note.body)) as? String ?? ""
        if title.isEmpty && body.isEmpty { return }
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let note = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first else {
            throw MigrationFailure.noDestination(sInstance.objectID)
        }
        if let data = sInstance.value(forKey: "colorData") as? Data,
            let color = try? NSKeyedUnarchiver.unarchivedObject(ofClass: UIColor.self, from: data) {
            note.setValue(color, forKey: #keyPath(Note.color))
        }
        note.setValue(Theme.Palette.standard.index, forKey: "palette")
    }

    override func createRelationships(forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
        if dInstance.value(forKey: #keyPath(Note.folder)) != nil { return }
        guard let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance]).first else { return }
        let tags = source.value(forKeyPath: "tags.name")
        guard let name = (tags as? Set<String>)?.sorted().first else { return }

        let context = manager.destinationContext
        context.mergePolicy = NSMergePolicy(
            merge: .mergeByPropertyStoreTrumpMergePolicyType)
        let request: NSFetchRequest<Folder> = Folder.fetchRequest()
        request.predicate = NSPredicate(
            format: "%K == %@ AND %K >= %@", #keyPath(Folder.name), name as CVarArg, #keyPath(Folder.rank),
            NSNumber(value: 0) as CVarArg)
        request.fetchLimit = 1
        let found = try context.fetch(request).first
        let conditions: [CVarArg] = [name]
        let same = NSPredicate(format: "name == %@", argumentArray: conditions)
        assert(found == nil || same.evaluate(with: found))
        dInstance.setValue(found, forKey: #keyPath(Note.folder))
    }

    override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let request = Note.fetchRequest()
        request.predicate = NSPredicate(format: "%K == NULL", #keyPath(Note.folder.name))
        let orphans = try manager.destinationContext.count(for: request)
        if orphans > 0 { NSLog("%ld notes are in no folder", orphans) }
    }

    @objc func excerpt(forBody body: String?) -> String? {
        guard let body = body else { return nil }
        return String(body.prefix(80))
    }
}

enum MigrationFailure: Error {
    case noDestination(NSManagedObjectID)
}
