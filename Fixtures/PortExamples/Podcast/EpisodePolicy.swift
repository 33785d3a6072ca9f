import CoreData
import CocoaLumberjackSwift
import Foundation

/// Codable settings in JSON, and a base class with helpers.
class EpisodePolicy: LoggingMigrationPolicy {
    struct Chapter: Codable, Hashable {
        let title: String
        let start: TimeInterval
    }

    enum Keys: String, CaseIterable {
        case guid, title, chapters
    }

    private lazy var decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()

    var seen = Set<String>()

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        DDLogInfo("Migrating \(sInstance.objectID)")
        guard let guid = sInstance[Keys.guid] as? String, seen.insert(guid).inserted else {
            DDLogWarn("Duplicate episode: \(sInstance.objectID)")
            return
        }
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let episode = manager.destination(of: sInstance, mapping) else { return }
        if let data = sInstance[.chapters] as? Data {
            do {
                let chapters = try decoder.decode([Chapter].self, from: data)
                episode.setValue(try JSONEncoder().encode(chapters.sorted { $0.start < $1.start }), forKey: Keys.chapters.rawValue)
            } catch let error as DecodingError {
                DDLogError("Chapters of \(guid): \(error)")
            } catch let error as NSError where error.domain == NSCocoaErrorDomain {
                DDLogError("\(error.localizedDescription) \(error.userInfo)")
            } catch {
                Crashlytics.sharedInstance().recordError(error)
                throw error
            }
        }
        if let raw = try JSONSerialization.jsonObject(with: sInstance.value(forKey: "extra") as? Data ?? Data(), options: []) as? [String: Any] {
            episode.setValue(raw["duration"] as? Double, forKey: "duration")
            episode.setValue(raw["explicit"] as? Bool ?? false, forKey: "isExplicit")
        }
    }

    @objc(podcastFor:manager:)
    func podcast(for source: NSManagedObject, manager: NSMigrationManager) -> NSManagedObject? {
        let podcast = source.value(forKey: "podcast") as? NSManagedObject
        return podcast.flatMap { manager.destinationInstances(forEntityMappingName: "PodcastToPodcast", sourceInstances: [$0]).first }
    }
}

class LoggingMigrationPolicy: NSEntityMigrationPolicy {
    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        DDLogDebug("\(#function) \(mapping.name ?? "nil") \(type(of: self)) \(NSStringFromClass(type(of: self)))")
        try super.begin(mapping, with: manager)
    }
    override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.endRelationshipCreation(forMapping: mapping, manager: manager)
        DDLogVerbose("\(#file):\(#line) \(manager.migrationProgress)")
    }
}

private extension NSManagedObject {
    subscript(key: EpisodePolicy.Keys) -> Any? {
        get { return value(forKey: key.rawValue) }
        set { setValue(newValue, forKey: key.rawValue) }
    }
}

private extension NSMigrationManager {
    func destination(of source: NSManagedObject, _ mapping: NSEntityMapping) -> NSManagedObject? {
        return destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source]).first
    }
}
