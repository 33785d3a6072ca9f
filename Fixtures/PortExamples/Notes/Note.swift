import CoreData
import UIKit

@objc(NTNote)
final class Note: NSManagedObject {
    @NSManaged @objc(noteTitle) var title: String?
    @objc(noteBody) @NSManaged var body: String?
    @NSManaged private(set) var created: Date
    @NSManaged var pinned: Bool
    @NSManaged var color: UIColor?
    @NSManaged var folder: Folder?
}

@objc(NTFolder)
final class Folder: NSManagedObject {
    @NSManaged var name: String
    @objc(sortRank)
    @NSManaged var rank: NSNumber?
    @NSManaged var notes: Set<Note>
}
