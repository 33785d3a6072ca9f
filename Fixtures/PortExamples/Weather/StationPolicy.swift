import CoreData
import os

/// Numbers to measurements, and a log of the unified system.
class StationPolicy: NSEntityMigrationPolicy {
    private static let log = OSLog(subsystem: "com.example.weather", category: "Migration")
    private static var count = 0
    static let shared = StationCache()
    private let logger = Logger(subsystem: Bundle.main.bundleIdentifier!, category: String(describing: StationPolicy.self))

    @objc func fahrenheit(_ celsius: NSNumber?) -> NSNumber? {
        guard let celsius = celsius else { return nil }
        let measurement = Measurement(value: celsius.doubleValue, unit: UnitTemperature.celsius)
        return measurement.converted(to: .fahrenheit).value as NSNumber
    }

    @objc dynamic func uuid() -> UUID { UUID() }

    /// Asks for the current weather, if the answer comes at all.
    func refresh(_ station: String?) {
        guard let station = station, let url = URL(string: "https://weather.example.com/" + station) else { return }
        var request = URLRequest(url: url)
        request.httpMethod = "GET"
        URLSession.shared.dataTask(with: request) { data, response, error in
            guard let http = response as? HTTPURLResponse, http.statusCode == 200, let data = data else { return }
            StationPolicy.count += data.count
        }.resume()
    }

    @objc func migrateKind(_ kind: String) -> NSNumber {
        return StationKind(legacy: kind).rawValue as NSNumber
    }

    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        os_log("Station %{public}@", log: StationPolicy.log, type: .debug, sInstance.objectID)
        os_log(.info, log: StationPolicy.log, "Station %{public}@ is migrated", sInstance.value(forKey: "name") as? String ?? "-")
        logger.debug("station \(sInstance.objectID.uriRepresentation().absoluteString, privacy: .public) \(Self.count, align: .right(columns: 3)) \(0.5, format: .fixed(precision: 2))")
        logger.log(level: .error, "\(sInstance, privacy: .private(mask: .hash))")
        StationPolicy.count += 1
        guard mapping.destinationEntityName == "Station" else {
            return try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        }
        let destination = NSEntityDescription.insertNewObject(forEntityName: mapping.destinationEntityName!, into: manager.destinationContext)
        let keys = Array(sInstance.entity.attributesByName.keys)
        let destKeys = Array(destination.entity.attributesByName.keys)
        for key in keys.filter({ destKeys.contains($0) }) {
            if let value = sInstance.value(forKey: key), !(value is NSNull) {
                destination.setValue(value, forKey: key)
            }
        }
        defer { manager.associate(sourceInstance: sInstance, withDestinationInstance: destination, for: mapping) }
        let latitude = (sInstance.value(forKey: "latitude") as? NSDecimalNumber) ?? NSDecimalNumber.zero
        let longitude = sInstance.value(forKey: "longitude") as? NSDecimalNumber ?? .zero
        guard latitude != .zero else { return }
        destination.setValue("\(latitude),\(longitude)", forKey: "position")
        Self.shared.store(destination, for: sInstance.objectID)
        DispatchQueue.main.async {
            NotificationCenter.default.post(name: .stationMigrated, object: nil, userInfo: ["count": StationPolicy.count])
        }
    }

    override func createRelationships(forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let sourceContext = manager.sourceContext
        let request = NSFetchRequest<NSManagedObject>(entityName: "Reading")
        request.predicate = NSPredicate(format: "%K == %@ AND %K IN %@", #keyPath(Station.name), dInstance.value(forKey: "name") as! CVarArg, "kind", ["a", "b"])
        request.sortDescriptors = [NSSortDescriptor(key: #keyPath(Reading.date), ascending: false)]
        request.returnsObjectsAsFaults = false
        request.includesPropertyValues = true
        request.fetchBatchSize = 100
        request.relationshipKeyPathsForPrefetching = ["station"]
        for reading in (try? sourceContext.fetch(request)) ?? [] {
            guard let moved = manager.destinationInstances(forEntityMappingName: "ReadingToReading", sourceInstances: [reading]).first else { continue }
            moved.setValue(dInstance, forKey: "station")
        }
    }
}

final class StationCache {
    private var objects = [NSManagedObjectID: NSManagedObject]()
    private let queue = DispatchQueue(label: "cache", attributes: .concurrent)
    func store(_ object: NSManagedObject, for id: NSManagedObjectID) {
        queue.sync(flags: .barrier) { objects[id] = object }
    }
}

enum StationKind: Int16 {
    case unknown, airport, ship
    init(legacy: String) { self = legacy == "airport" ? .airport : .unknown }
}

extension Notification.Name {
    static let stationMigrated = Notification.Name("stationMigrated")
}

class Station: NSManagedObject {
    @NSManaged var name: String
    @nonobjc public class func fetchRequest() -> NSFetchRequest<Station> {
        return NSFetchRequest<Station>(entityName: "Station")
    }
}

@objc(Reading)
public final class Reading: NSManagedObject {
    @NSManaged fileprivate(set) var date: Date
    @NSManaged public var value: Double
    @NSManaged var station: Station!
    @NSManaged public var flags: Int64
    public override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue(Date(), forKey: #keyPath(date))
    }
}

extension Reading {
    var isOld: Bool { date.timeIntervalSinceNow < -86_400 }
}
