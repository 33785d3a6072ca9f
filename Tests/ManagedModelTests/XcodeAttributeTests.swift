import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Attributes that only Xcode reads")
struct XcodeAttributeTests {
    /// Collects the tags of a model that have attributes by their places, without the diagram.
    private final class Tags: XMLTagHandler {
        private(set) var attributes: [String: [[String: String]]] = [:]
        private var place: [String] = []

        func open(_ tag: XMLTag) {
            let name = ["name", "key", "value", "property", "expression"].compactMap { tag.attributes[$0] }.first
            place.append(tag.name + (name.map { " \($0)" } ?? ""))
            guard !place.contains("elements"), !tag.attributes.isEmpty else { return }
            attributes[place.joined(separator: ", "), default: []].append(tag.attributes)
        }
        func close() { place.removeLast() }
        func text(_ piece: String) {}

        static func of(_ contents: Data) throws -> [String: [[String: String]]] {
            try XMLTagParser.parse(try XMLSource(contents, path: "contents"), into: Tags()).attributes
        }
    }

    private static let contents = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="17709" \
        systemVersion="20C69" minimumToolsVersion="Xcode 9.0" sourceLanguage="Objective-C" usedWithCloudKit="YES" \
        usedWithSwiftData="YES" iOSVersion="iOS 7" userDefinedModelVersionIdentifier="2">
            <entity name="Book" representedClassName=".Book" syncable="YES" codeGenerationType="class">
                <attribute name="place" optional="YES" attributeType="Composite" composite="Place" syncable="YES"/>
                <attribute name="title" optional="YES" attributeType="String" syncable="YES" future="a &quot;b&quot;"/>
                <relationship name="next" optional="YES" maxCount="1" deletionRule="Nullify" \
        destinationEntity="Book" syncable="NO"/>
                <fetchedProperty name="all" optional="YES" syncable="YES">
                    <fetchRequest name="all" entity="Book" includeSubentities="YES"/>
                </fetchedProperty>
                <fetchIndex name="byTitle" hint="x">
                    <fetchIndexElement property="title" type="Binary" order="ascending" expressionType="String"/>
                </fetchIndex>
            </entity>
            <entity name="Plain" representedClassName="App.Plain"/>
            <composite name="Place" shape="point">
                <attribute name="street" optional="YES" attributeType="String" syncable="YES"/>
            </composite>
            <configuration name="Cloud" usedWithCloudKit="YES">
                <memberEntity name="Book"/>
            </configuration>
            <fetchRequest name="some" entity="Book" predicateString="title != nil" includeSubentities="YES" \
        includePropertyValues="NO" includesPendingChanges="YES" returnObjectsAsFaults="YES" returnDistinctResults="YES"/>
        </model>

        """

    /// Returns the tags that a written model has otherwise than the file it was read from.
    private func differences(of contents: Data, ignoring ignored: (_ name: String, _ text: String) -> Bool) throws
        -> [String]
    {
        let written = ModelXMLWriter.contents(of: try ModelXMLReader.read(contents, path: "contents"))
        func stripped(_ tags: [[String: String]]?) -> [[String: String]] {
            (tags ?? []).map { $0.filter { !ignored($0.key, $0.value) } }
        }
        let (first, second) = (try Tags.of(contents), try Tags.of(Data(written.utf8)))
        return first.keys.sorted().compactMap { place in
            let (before, after) = (stripped(first[place]), stripped(second[place]))
            return before == after ? nil : "\(place): \(before) became \(after)"
        }
    }

    @Test("Each comes back as it was, the point of the module included")
    func roundTrip() throws {
        #expect(try differences(of: Data(Self.contents.utf8)) { _, _ in false } == [])
        let definition = try ModelXMLReader.readModel(Self.contents).definition
        let again = try ModelXMLReader.readModel(ModelXMLWriter.contents(of: definition)).definition
        #expect(ModelComparison.parts(of: definition, missingIn: again) == [])
        #expect(again.entities[0].managedObjectClassName == "Book")
    }

    @Test("A class of another name is written without the point of the former one")
    func changedClass() throws {
        var definition = try ModelXMLReader.readModel(Self.contents).definition
        definition.entities[0].managedObjectClassName = "Volume"
        #expect(ModelXMLWriter.contents(of: definition).contains("representedClassName=\"Volume\""))
    }

    @Test("They make no two models different, and change no hash")
    func equality() throws {
        let bare = Self.contents
            .replacing(
                #/ (syncable|codeGenerationType|sourceLanguage|usedWith\w+|include\w+|hint|shape|future)="[^"]*"/#,
                with: "")
        let (full, plain) = (try ModelXMLReader.readModel(Self.contents), try ModelXMLReader.readModel(bare))
        #expect(plain.definition.entities[0].xcode.texts == ["representedClassName": ".Book"])
        #expect(full.definition == plain.definition)
        #expect(full.definitionDigest == plain.definitionDigest)
        #expect(
            VersionHash.entityHashes(of: full).mapValues(\.bytes)
                == VersionHash.entityHashes(of: plain).mapValues(\.bytes))
        let archived = try ModelArchive.decode(ModelArchive.encode(full))
        #expect(archived.entities.map(\.name) == ["Book", "Plain"])
    }

    @Test("One that a model lacks is named")
    func named() throws {
        let definition = try ModelXMLReader.readModel(Self.contents).definition
        var other = definition
        other.xcode.texts?["usedWithCloudKit"] = nil
        other.xcode.parts = [:]
        other.entities[0].xcode.texts?["codeGenerationType"] = "category"
        other.entities[0].attributes[1].xcode = XcodeAttributes()
        let lost = ModelComparison.parts(of: definition, missingIn: other).map { "\($0.part) = \($0.value)" }
        #expect(
            lost.sorted() == [
                "composite Place: shape = point", "configuration Cloud: usedWithCloudKit = YES",
                "entity Book, attribute title: future = a \"b\"", "entity Book, attribute title: syncable = YES",
                "entity Book: codeGenerationType = class", "usedWithCloudKit = YES",
            ])
    }

    @Test(
        "Every model of the shared stores comes back with all attributes of its tags",
        .enabled(if: SharedStores.isPresent, "the folder of shared stores is absent"))
    func sharedModels() throws {
        let files = SharedStores.paths(withExtensions: ["xcdatamodeld", "xcdatamodel"]).flatMap { bundle in
            if bundle.pathExtension == "xcdatamodel" { return [bundle.appendingPathComponent("contents")] }
            let versions = (try? ModelLocator.versions(in: bundle.path)) ?? []
            return versions.map { bundle.appendingPathComponent("\($0).xcdatamodel/contents") }
        }
        #expect(files.count == 232)
        for file in files {
            // A default may be written in another form, 0 for 0.0; the definitions are compared for it.
            let found = try differences(of: try Data(contentsOf: file)) { name, _ in name == "defaultValueString" }
            #expect(found == [], "\(file.path)")
            let definition = try ModelXMLReader.read(try Data(contentsOf: file), path: file.path)
            let again = try ModelXMLReader.readModel(ModelXMLWriter.contents(of: definition)).definition
            #expect(again == definition, "\(file.path)")
            #expect(ModelComparison.parts(of: definition, missingIn: again) == [], "\(file.path)")
        }
    }
}
