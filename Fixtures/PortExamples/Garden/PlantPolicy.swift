import CoreData

/// A validating model class, a transformer, secure coding.
class PlantPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        let plants = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
        for plant in plants {
            let schedule = sInstance.value(forKey: "schedule") as? WateringSchedule
            plant.setValue(schedule?.days ?? [], forKey: "days")
            let transformer = ValueTransformer(forName: .secureUnarchiveFromDataTransformerName)
            if let data = transformer?.reverseTransformedValue(["a"]) as? Data { plant.setValue(data, forKey: "raw") }
            if let data = sInstance.primitiveValue(forKey: "soil") as? Data {
                let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
                unarchiver.requiresSecureCoding = false
                unarchiver.setClass(Soil.self, forClassName: "Garden.Soil")
                let soil = unarchiver.decodeObject(of: Soil.self, forKey: NSKeyedArchiveRootObjectKey)
                plant.setValue(soil?.name, forKey: "soilName")
                unarchiver.finishDecoding()
            }
            let unique = try NSKeyedUnarchiver.unarchiveTopLevelObjectWithData(Data()) as? NSDictionary
            plant.setValue(unique?["a"], forKey: "b")
        }
    }
}

@objc(WateringSchedule)
final class WateringSchedule: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { return true }
    @objc let days: [Int]
    init(days: [Int]) { self.days = days }
    func encode(with aCoder: NSCoder) { aCoder.encode(days as NSArray, forKey: #keyPath(WateringSchedule.days)) }
    required init?(coder aDecoder: NSCoder) {
        guard let days = aDecoder.decodeObject(of: [NSArray.self, NSNumber.self], forKey: "days") as? [Int] else { return nil }
        self.days = days
    }
}

@objc public class Soil: NSObject, NSCoding {
    var name: String = ""
    public func encode(with coder: NSCoder) { coder.encode(name, forKey: "name") }
    public required init?(coder: NSCoder) { name = coder.decodeObject(forKey: "name") as? String ?? "" }
    public override init() {}
}

@objc(WateringScheduleTransformer)
final class WateringScheduleTransformer: NSSecureUnarchiveFromDataTransformer {
    static let name = NSValueTransformerName(rawValue: String(describing: WateringScheduleTransformer.self))
    override static var allowedTopLevelClasses: [AnyClass] { return [WateringSchedule.self, NSArray.self] }
    public static func register() {
        ValueTransformer.setValueTransformer(WateringScheduleTransformer(), forName: name)
    }
    override class func transformedValueClass() -> AnyClass { return WateringSchedule.self }
    override class func allowsReverseTransformation() -> Bool { return true }
}

class Plant: NSManagedObject {
    @NSManaged var name: String
    @NSManaged var height: Double
    @objc func validateName(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
        guard let name = value.pointee as? String, !name.isEmpty else {
            throw NSError(domain: NSCocoaErrorDomain, code: NSValidationStringTooShortError, userInfo: nil)
        }
    }
    override func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
        try super.validateValue(value, forKey: key)
    }
    override func validateForUpdate() throws { try super.validateForUpdate() }
    override func willSave() {
        super.willSave()
        if !isDeleted, changedValues()[#keyPath(Plant.name)] != nil { print("renamed") }
    }
    override class func keyPathsForValuesAffectingValue(forKey key: String) -> Set<String> { return [] }
    @objc class func keyPathsForValuesAffectingTitle() -> Set<String> { return ["name"] }
    override func didTurnIntoFault() { super.didTurnIntoFault() }
}
