import Foundation
import CoreData
import UIKit
import MobileCoreServices
@testable import JournalKit

private let kEntryMapping = "EntryToEntry"
fileprivate var migratedCount = 0

/// Photos become files and thumbnails; colours become hexadecimal text.
@objc(JREntryPolicy) @available(iOS 13.0, *)
public final class EntryPolicy: NSEntityMigrationPolicy {
    public override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        if #available(iOS 14.0, *) { print("new") } else { print("old") }
        migratedCount = 0
    }

    public override func createDestinationInstances(forSource sInstance: NSManagedObject,
                                                    in mapping: NSEntityMapping,
                                                    manager: NSMigrationManager) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let dInstance = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first else {
            fatalError("must return entry")
        }
        if let data = sInstance.value(forKey: "imageData") as? Data, let image = UIImage(data: data) {
            let size = CGSize(width: 100, height: 100 * image.size.height / max(image.size.width, 1))
            UIGraphicsBeginImageContextWithOptions(size, false, 0.0)
            image.draw(in: CGRect(origin: .zero, size: size))
            let thumbnail = UIGraphicsGetImageFromCurrentImageContext()
            UIGraphicsEndImageContext()
            dInstance.setValue(thumbnail?.jpegData(compressionQuality: 0.8), forKey: "thumbnail")
            dInstance.setValue(image.pngData(), forKey: "image")
            dInstance.setValue(image.scale, forKey: "scale")
        }
        if let color = sInstance.value(forKey: "color") as? UIColor {
            var red: CGFloat = 0, green: CGFloat = 0, blue: CGFloat = 0, alpha: CGFloat = 0
            color.getRed(&red, green: &green, blue: &blue, alpha: &alpha)
            dInstance.setValue(String(format: "%02x%02x%02x", Int(red * 255), Int(green * 255), Int(blue * 255)), forKey: "hex")
        }
        if let attributed = sInstance.value(forKey: "text") as? NSAttributedString {
            dInstance.setValue(attributed.string, forKey: "plainText")
            let range = NSRange(location: 0, length: attributed.length)
            let html = try? attributed.data(from: range, documentAttributes: [.documentType: NSAttributedString.DocumentType.html])
            dInstance.setValue(html, forKey: "html")
        }
        if let archived = sInstance.value(forKey: "tags") as? Data {
            let tags = NSKeyedUnarchiver.unarchiveObject(with: archived) as? [String]
            dInstance.setValue(tags?.joined(separator: ","), forKey: "tagText")
            dInstance.setValue(try NSKeyedArchiver.archivedData(withRootObject: tags ?? [], requiringSecureCoding: true), forKey: "tags")
        }
        migratedCount += 1
        dInstance.setValue(EntrySource.imported.rawValue, forKey: "source")
        let screen = UIScreen.main.scale
        dInstance.setValue(screen > 1 ? 2 : 1, forKey: "screenScale")
        EntryIndex.shared.add(dInstance.objectID, title: sInstance.title)
    }

    public override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        UserDefaults.standard.set(true, forKey: "didMigrateEntries")
        UserDefaults(suiteName: "group.journal")?.set(migratedCount, forKey: "count")
        let attributes: [NSAttributedString.Key: Any] = [.font: UIFont.systemFont(ofSize: 12), .foregroundColor: UIColor.black]
        print(attributes.count)
    }
}

fileprivate extension NSManagedObject {
    var title: String? { return value(forKey: "title") as? String }
    func copyAttributes(to other: NSManagedObject) {
        for (name, description) in entity.attributesByName where description.attributeType != .transformableAttributeType {
            other.setValue(value(forKey: name), forKey: name)
        }
    }
}
