import AppKit
import CocoaLumberjack
import CoreData

/// Turns the tracks of a playlist, which version 4 held as a text of identifiers, into an ordered relationship.
final class PlaylistPolicy: NSEntityMigrationPolicy, PlaylistReporting {
    let tracksKey = "trackList"
    lazy var cache = NSMutableDictionary()

    override func createDestinationInstances(
        forSource playlist: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        DDLogVerbose("playlist \(playlist.objectID)")
        try super.createDestinationInstances(forSource: playlist, in: mapping, manager: manager)
        let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [playlist])
        guard let new = made.first, let list = playlist.value(forKey: tracksKey) as? String else { return }

        let tracks = new.mutableOrderedSetValue(forKey: "tracks")
        for part in list.split(separator: ",") {
            guard let identifier = TrackIdentifier(text: String(part)) else {
                DDLogError("no identifier: \(part)")
                continue
            }
            let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Track")
            request.predicate = NSPredicate(format: "identifier == %@", identifier.rawValue as! CVarArg)
            request.sortDescriptors = [NSSortDescriptor(key: "added", ascending: true)]
            request.fetchLimit = 1
            if let track = try manager.destinationContext.fetch(request).first as? NSManagedObject {
                tracks.add(track)
            }
        }
        let mood = playlist.value(forKey: "mood") as? NSNumber
        new.setValue(Mood.standard.color(for: mood), forKey: "color")
        new.setValue(duration(of: playlist), forKey: "duration")
    }

    private func duration(of playlist: NSObject) -> NSNumber {
        let items = playlist.value(forKey: "items") as? Set<NSObject> ?? []
        return NSNumber(value: items.reduce(0.0) { $0 + (($1.value(forKey: "seconds") as? NSNumber)?.doubleValue ?? 0) })
    }

    override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        cache.removeAllObjects()
        report(cache.count)
    }

    func report(_ count: Int) { DDLogInfo("cache: \(count)") }
}
