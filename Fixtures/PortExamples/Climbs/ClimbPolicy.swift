import CoreData
import CoreLocation
import MapKit
import os.log

/// Climbs with their routes. Grades, wrappers, extensions and errors are declared elsewhere in the app.
@objc(CLMClimbPolicy)
final class ClimbPolicy: NSEntityMigrationPolicy {
    @Setting(key: "climb.migrated", default: 0)
    private var migrated: Int

    @Injected private var gym: GymService
    private static let detector = try? NSDataDetector(types: NSTextCheckingResult.CheckingType.link.rawValue)
    private var longest: CLLocationDistance = 0

    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let climb = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first else {
            throw MigrationError.missing(entity: "Climb")
        }
        os_log("climb %{public}@", log: .migration, type: .debug, sInstance.objectID)
        let title = (sInstance.value(forKey: "title") as? String ?? "").trimmed
        climb.setValue(title, forKey: "title")
        climb.setValue(title.nilIfBlank ?? "untitled", forKey: "shownTitle")
        if let date = sInstance.value(forKey: "date") as? Date {
            climb.setValue(date.startOfDay, forKey: "day")
            if Date().timeIntervalSince(date) > TimeInterval.oneYear { climb.setValue(true, forKey: "isOld") }
        }
        if let data = sInstance.value(forKey: "track") as? Data, let track = try? Track(gpx: data) {
            let region = MKCoordinateRegionForMapRect(MKMapRectUnion(track.start, track.end))
            climb.setValue(region.center.latitude, forKey: "latitude")
            longest = max(longest, track.length)
        }
        let photos = PHAsset.fetchAssets(withLocalIdentifiers: [title], options: nil)
        photos.enumerateObjects { asset, index, _ in
            climb.setValue(asset.localIdentifier, forKey: "photo\(index)")
        }
        GymAnalytics.shared.log(.climbMigrated, message: "\(title, privacy: .private)")
        migrated += 1
    }

    @objc func grade(_ text: String?) -> NSNumber {
        guard let grade = Grade(text) else { return NSNumber(value: Grade.unknown.rawValue) }
        switch scale(of: grade) {
        case .french: return NSNumber(value: grade.rawValue)
        case .american, .other: return NSNumber(value: Int64(grade.rawValue - Grade.offset))
        default: return 0
        }
    }

    private func scale(of grade: Grade) -> GradeScale {
        if gym.usesFrenchGrades { return .french }
        return grade.isSport ? .american : .other
    }
}
