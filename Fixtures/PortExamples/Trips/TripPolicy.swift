import CoreData
import CoreLocation
import MapKit

/// Swift 3: `#keyPath`, `.characters`, NSError, and old spellings of the first releases.
public class TripPolicy: NSEntityMigrationPolicy {
    fileprivate let dateFormatter = DateFormatter()
    fileprivate var countries = [String: NSManagedObject]()

    public override init() {
        super.init()
        dateFormatter.dateStyle = .medium
    }

    override public func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let newTrip = NSEntityDescription.insertNewObject(forEntityName: "Trip", into: manager.destinationContext)
        let title = (sInstance.value(forKey: "title") as? String) ?? ""
        if title.characters.count > 0 {
            newTrip.setValue(String(title.characters.prefix(40)), forKey: "title")
        }
        let coder = sInstance.value(forKey: "points") as? Data
        if let coder = coder, let points = NSKeyedUnarchiver.unarchiveObject(with: coder) as? [CLLocation] {
            let coordinates = points.map { CLLocationCoordinate2D(latitude: $0.coordinate.latitude, longitude: $0.coordinate.longitude) }
            newTrip.setValue(coordinates.count, forKey: "pointCount")
            let region = MKCoordinateRegion(center: coordinates[0], span: MKCoordinateSpan(latitudeDelta: 1, longitudeDelta: 1))
            newTrip.setValue(region.center.latitude, forKey: "latitude")
            newTrip.setValue(kCLLocationCoordinate2DInvalid.latitude, forKey: "none")
        }
        var error: NSError?
        if let country = try? countryObject(sInstance, in: manager.destinationContext, error: &error) {
            newTrip.setValue(country, forKey: "country")
        }
        if newTrip.entity.attributesByName["startDate"]?.attributeType == .dateAttributeType,
            let seconds = sInstance.value(forKey: "start") as? Double {
            newTrip.setValue(NSDate(timeIntervalSince1970: seconds), forKey: "startDate")
            newTrip.setValue(dateFormatter.string(from: Date(timeIntervalSince1970: seconds)), forKey: "startText")
        }
        let calendar = Calendar(identifier: Calendar.Identifier.gregorian)
        let components = calendar.dateComponents([.year, .month], from: Date())
        newTrip.setValue(components.year as NSNumber?, forKey: "year")
        manager.associate(sourceInstance: sInstance, withDestinationInstance: newTrip, for: mapping)
    }

    private func countryObject(_ source: NSManagedObject, in context: NSManagedObjectContext, error: NSErrorPointer) throws -> NSManagedObject? {
        guard let code = source.value(forKeyPath: "place.country.code") as? String else {
            error?.pointee = NSError(domain: "trips", code: 4, userInfo: [NSLocalizedDescriptionKey: "no country"])
            return nil
        }
        if let found = countries[code] { return found }
        let fetch: NSFetchRequest<NSManagedObject> = NSFetchRequest(entityName: "Country")
        fetch.predicate = NSPredicate(format: "code ==[c] %@", code)
        fetch.fetchLimit = 1
        let country = try context.fetch(fetch).first ?? NSEntityDescription.insertNewObject(forEntityName: "Country", into: context)
        country.setValue(code, forKey: "code")
        country.setValue((Locale.current as NSLocale).displayName(forKey: .countryCode, value: code), forKey: "name")
        countries[code] = country
        return country
    }

    public override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let count = try manager.destinationContext.count(for: NSFetchRequest(entityName: "Trip"))
        guard count != NSNotFound else {
            throw NSError(domain: NSCocoaErrorDomain, code: NSValidationMultipleErrorsError, userInfo: [NSDetailedErrorsKey: []])
        }
    }
}
