import Foundation
import ManagedModel
import TestSupport

@testable import Mapping

/// A mapping model of the shared stores with the models that it is for.
struct RealMapping {
    let path: String
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    /// Below the shared stores.
    var name: String { String(path.dropFirst(SharedStores.url.path.count + 1)) }

    /// The mapping models whose two models are there.
    static func all() throws -> [RealMapping] {
        try SharedStores.paths(withExtensions: ["xcmappingmodel", "cdm"]).map { try RealMapping($0.path) }
    }

    /// Finds the models by the paths that Xcode noted: their bundle's and version's names are those of the shared files.
    init(_ path: String) throws {
        self.path = path
        // A compiled one notes none; it is beside its source.
        let hinting = path.hasSuffix(".cdm") ? String(path.dropLast(4)) + ".xcmappingmodel" : path
        let outline = try MappingOutline.reading(MappingFile(path: hinting))
        let models = URL(fileURLWithPath: path).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("models").path
        func model(_ hint: String?) throws -> ManagedObjectModel {
            let parts = (hint ?? "").split(separator: "/").suffix(2).map(String.init)
            var version = parts.last ?? ""
            // Beam's second mapping model of 3 to 4 was begun towards a version that is not among the files.
            if version == "Beam5.xcdatamodel" { version = "Beam4.xcdatamodel" }
            return try ModelLocator.load("\(models)/\(parts.first ?? ""):\(version)").model
        }
        source = try model(outline.sourceModelPath)
        destination = try model(outline.destinationModelPath)
    }

    func read() throws -> MappingModel {
        try MappingModel.read(path: path, sourceModel: source, destinationModel: destination)
    }

    static func shared(_ name: String) -> String { SharedStores.url.appendingPathComponent(name).path }
}
