import Stagecoach

/// CoreDataMigration_Example 2 to 3: a post's content becomes sections, a title and a body each.
final class Post2ToPost3MigrationPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard
            let post = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first, let content = sInstance.value(forKey: "content") as? String
        else { return }

        let paragraphs = content.components(separatedBy: "\n").filter { !$0.isEmpty }
        var sections = Set<NSManagedObject>()
        for (index, paragraph) in paragraphs.enumerated() {
            let section = NSEntityDescription.insertNewObject(
                forEntityName: "Section", into: manager.destinationContext)
            section.setValue(String(paragraph.prefix(8)), forKey: "title")
            section.setValue(paragraph, forKey: "body")
            section.setValue(index, forKey: "index")
            sections.insert(section)
        }
        post.setValue(sections, forKey: "sections")
    }
}
