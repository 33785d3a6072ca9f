import Stagecoach

/// Cyface 3 to 4: the locations of a measurement, which have no mapping of their own, move into its first track; the
/// length of the track is computed.
final class MeasurementToMeasurementPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard
            let measurement = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first, let oldLocations = sInstance.value(forKey: "geoLocations") as? NSOrderedSet
        else { return }

        let context = manager.destinationContext
        let track = NSEntityDescription.insertNewObject(forEntityName: "Track", into: context)
        let locations = NSMutableOrderedSet()
        for case let oldLocation as NSManagedObject in oldLocations {
            let location = NSEntityDescription.insertNewObject(forEntityName: "GeoLocation", into: context)
            for key in oldLocation.entity.attributesByName.keys {
                location.setValue(oldLocation.value(forKey: key), forKey: key)
            }
            locations.add(location)
        }
        track.setValue(locations, forKey: "locations")
        measurement.setValue(NSOrderedSet(object: track), forKey: "tracks")

        let ordered = locations.array as? [NSManagedObject] ?? []
        let length = zip(ordered, ordered.dropFirst()).reduce(0.0) { $0 + Self.distance($1.0, $1.1) }
        measurement.setValue(length, forKey: "trackLength")
    }

    /// Metres on a sphere.
    static func distance(_ from: NSManagedObject, _ to: NSManagedObject) -> Double {
        func degrees(_ object: NSManagedObject, _ key: String) -> Double { object.value(forKey: key) as? Double ?? 0 }
        return distance(
            degrees(from, "lat"), degrees(from, "lon"), degrees(to, "lat"), degrees(to, "lon"))
    }

    static func distance(_ lat1: Double, _ lon1: Double, _ lat2: Double, _ lon2: Double) -> Double {
        let radians = Double.pi / 180
        let a =
            pow(sin((lat2 - lat1) * radians / 2), 2)
            + cos(lat1 * radians) * cos(lat2 * radians) * pow(sin((lon2 - lon1) * radians / 2), 2)
        return 2 * 6_371_000 * asin(sqrt(a))
    }
}
