import Stagecoach

/// Cyface 3 to 4: the locations of a measurement move into its first track; the length of the track is computed.
final class MeasurementToMeasurementPolicy: NSEntityMigrationPolicy {
    override func createRelationships(
        forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
        let sources = manager.sourceInstances(
            forEntityMappingName: "MeasurementToMeasurement", destinationInstances: [dInstance])
        guard let measurement = sources.first,
            let oldLocations = measurement.value(forKey: "geoLocations") as? NSOrderedSet
        else { return }
        let locations = manager.destinationInstances(
            forEntityMappingName: "GeoLocationToGeoLocation",
            sourceInstances: oldLocations.array as? [NSManagedObject])

        let context = dInstance.managedObjectContext!
        let track = NSEntityDescription.insertNewObject(forEntityName: "Track", into: context)
        track.setValue(NSOrderedSet(array: locations), forKey: "locations")
        dInstance.setValue(NSOrderedSet(object: track), forKey: "tracks")

        var length = 0.0
        for (from, to) in zip(locations, locations.dropFirst()) {
            length += Self.distance(from, to)
        }
        dInstance.setValue(length, forKey: "trackLength")
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
