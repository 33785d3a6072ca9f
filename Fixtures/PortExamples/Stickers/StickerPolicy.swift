import CoreData
import Photos
import CoreGraphics
import CryptoKit
import SwiftUI

/// Images by ImageIO's and UIKit's ways, hashes by CryptoKit.
@objc(StickerPolicy)
final class StickerPolicy: NSEntityMigrationPolicy {
    private let fileManager = FileManager.default
    private var folder: URL {
        return fileManager.urls(for: .documentDirectory, in: .userDomainMask).first!.appendingPathComponent("stickers", isDirectory: true)
    }
    private lazy var groupFolder: URL? = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.stickers")

    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try autoreleasepool {
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        }
        let results = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
        guard let destination = results.last else { return }
        guard let data = sInstance.value(forKey: "image") as? Data else { return }
        let name = SHA256.hash(data: data).map { String(format: "%02hhx", $0) }.joined()
        try fileManager.createDirectory(at: folder, withIntermediateDirectories: true, attributes: nil)
        try data.write(to: folder.appendingPathComponent("image").appendingPathExtension("png"), options: [.atomic, .completeFileProtection])
        destination.setValue(name, forKey: "fileName")
        if let source = CGImageSourceCreateWithData(data as CFData, nil),
           let properties = CGImageSourceCopyPropertiesAtIndex(source, 0, nil) as? [CFString: Any] {
            destination.setValue(properties[kCGImagePropertyPixelWidth] as? Int, forKey: "width")
            destination.setValue(properties[kCGImagePropertyPixelHeight] as? Int, forKey: "height")
        }
        let asset = PHAsset.fetchAssets(withLocalIdentifiers: ["a"], options: nil).firstObject
        destination.setValue(asset?.localIdentifier, forKey: "asset")
        destination.setValue(Date.timeIntervalSinceReferenceDate, forKey: "migrated")
        let color = Color(red: 1, green: 0, blue: 0)
        destination.setValue(color.description, forKey: "tint")
        let renderer = UIGraphicsImageRenderer(size: CGSize(width: 10, height: 10))
        let preview = renderer.image { context in
            UIColor.white.setFill()
            context.fill(CGRect(x: 0, y: 0, width: 10, height: 10))
        }
        destination.setValue(preview.pngData(), forKey: "preview")
        let transform = CGAffineTransform(rotationAngle: .pi)
        destination.setValue(NSValue(cgAffineTransform: transform), forKey: "transform")
        destination.setValue(NSStringFromCGRect(.zero), forKey: "frame")
    }
}
