import CloudWardrobe
import Combine
import CoreData
#if os(macOS)
import AppKit
#else
import UIKit
#endif

/// Uses classes, an extension and a package of the app that are not given: their stubs are called, built, asked by index, and named
/// by an alias.
final class GarmentPolicy: NSEntityMigrationPolicy {
    #if os(macOS)
    typealias Picture = NSImage
    #else
    typealias Picture = UIImage
    #endif

    @Published private var made = 0
    private lazy var finder: OutfitFinder = .init(limit: 3)

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
        guard let garment = made.first as? Garment else { return }
        let outfit = Outfit(entity: manager.destinationEntity(for: mapping)!, insertInto: manager.destinationContext)
        outfit.colour = garment.colour?.lowercased() ?? "none"
        outfit.designer = sInstance.designer(in: manager)
        garment.addToOutfits(outfit)
        garment.addToOutfits(Outfit.favourite(in: manager.destinationContext))
        try garment.check()
        if let picture = Picture(data: sInstance.value(forKey: "picture") as? Data ?? Data()) {
            outfit.setValue(Digest.Fast.hash(data: picture).description, forKey: "digest")
        }
        let entry = CloudEntry(kind: .garment, finder: .init(depth: 2))
        entry["name"] = sInstance.value(forKey: "name") as? CloudValue
        outfit.setValue(Closet.Shelf.init(number: 2).first?.name, forKey: "shelf")
        let locker = Locker(service: "wardrobe")
        if let key = try locker.key(of: garment) { try locker.store(key, name: "garment") }
        locker["old"] = nil
        self.made += finder.number(of: outfit)
    }
}
