import Combine
import CoreData
import CoreLocation
import Foundation

/// Reads the mapping's user info, and evaluates its expressions itself.
@objcMembers
class PlacePolicy: VersionedPolicy {
    static let conversion = #selector(PlacePolicy.coordinate(fromText:precision:))

    override init() {
        super.init()
    }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try autoreleasepool {
            let isNested = (mapping.userInfo?["nested"] as? String) == "YES"
            for property in mapping.attributeMappings ?? [] where property.name == "note" {
                property.valueExpression = NSExpression(forConstantValue: isNested ? "nested" : "flat")
            }
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
            guard isNested else { return }
            let values = sInstance.dictionaryWithValues(forKeys: ["latitude", "longitude"])
            let place = NSEntityDescription.insertNewObject(
                forEntityName: mapping.destinationEntityName ?? "Place", into: manager.destinationContext)
            place.setValuesForKeys(values)
            let latitude = values["latitude"] as? Double ?? 0
            let longitude = values["longitude"] as? Double ?? 0
            let location = CLLocation(latitude: latitude, longitude: longitude)
            place.setValue(location.distance(from: CLLocation(latitude: 0, longitude: 0)), forKey: "distance")
            manager.associate(sourceInstance: sInstance, withDestinationInstance: place, for: mapping)
        }
    }

    func coordinate(fromText text: NSString, precision: NSNumber) -> NSNumber? {
        let parts = text.components(separatedBy: ";")
        guard let first = parts.first, let value = Double(first) else { return nil }
        let factor = pow(10, precision.doubleValue)
        return NSNumber(value: (value * factor).rounded() / factor)
    }

    func isHome(_ name: String?) -> NSNumber { NSNumber(value: name == "Home") }

    override func performCustomValidation(
        forMapping mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let expression = NSExpression(format: "$entityMapping.name")
        let context: NSMutableDictionary = [NSMigrationEntityMappingKey: mapping]
        let name = expression.expressionValue(with: nil, context: context) as? String
        guard name == mapping.name else {
            throw NSError(
                domain: NSCocoaErrorDomain, code: NSMigrationError,
                userInfo: [NSLocalizedDescriptionKey: "The mapping has another name"])
        }
    }
}
