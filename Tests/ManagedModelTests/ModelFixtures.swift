import Diagnostics
import Foundation
import TestSupport

@testable import ManagedModel

/// Models of the tests: those in `Fixtures/Models`, and texts.
enum ModelFixtures {
    static let folder = SharedStores.repository.appendingPathComponent("Fixtures/Models").path

    static let library = folder + "/Library.xcdatamodeld"
    static let everything = folder + "/Everything.xcdatamodeld"

    /// The model of XML text; `body` is the content of `<model>`.
    static func model(_ body: String) throws(MigrationError) -> ManagedObjectModel {
        try ModelXMLReader.readModel(data(body), path: "contents")
    }

    /// A whole file, the body on line 3.
    static func data(_ body: String) -> Data {
        Data(
            """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" userDefinedModelVersionIdentifier="">
            \(body)
            </model>

            """.utf8)
    }

    /// The error of a body that must not be read; nil if it is read.
    static func failure(_ body: String) -> MigrationError? { failure(data(body)) }

    /// The error of a file that must not be read; nil if it is read.
    static func failure(_ data: Data) -> MigrationError? {
        do {
            _ = try ModelXMLReader.readModel(data, path: "dir/contents")
            return nil
        } catch {
            return error
        }
    }
}
