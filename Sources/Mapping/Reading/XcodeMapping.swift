import Diagnostics
import Foundation
import ManagedModel

/// The content of an `xcmapping.xml`, read without its two models.
///
/// Ignored are entity mappings that no mapping model refers to, left over from editing (nova-wallet, cyface, tml have some),
/// property mappings without an entity mapping (Moody 2-3), and entity mappings without source, destination and properties. The
/// order is that of `mappingnumber`; equal numbers are in the file's order.
///
/// Memory: the file's texts without the models' copies.
struct XcodeMapping {
    let path: String
    /// The path of the model for Xcode, relative to a project: a hint.
    let sourceModelPath: String?
    let destinationModelPath: String?
    /// The entity mappings as in the file. What the compiler fills in is open, and the attributes and relationships are sorted
    /// by name, because the file has no order.
    let entities: [EntityMapping]

    /// Reads the bytes of an `xcmapping.xml`. A document type is not resolved; entities are refused.
    ///
    /// - Throws: `mapping.xml`, `mapping.encoding`, `mapping.documentType`, `mapping.tooLarge`, `mapping.tooDeep`,
    ///   `mapping.notAMapping`, `mapping.missingAttribute`, `mapping.duplicateObject`, `mapping.reference`,
    ///   `mapping.number`, `mapping.missingName`, `mapping.base64`, `mapping.archive`, `mapping.expression`; all 78, with
    ///   path, line and column, entity mapping and property as far as they are known.
    /// - Complexity: O(file).
    init(_ bytes: [UInt8], path: String) throws(MigrationError) {
        self.path = path
        let source: XMLSource
        let objects: [XcodeObject]
        do throws(MigrationError) {
            source = try XMLSource(
                Data(bytes), path: path, allowsDocumentType: true, byteLimit: MappingFile.greatestByteCount)
            objects = try XMLTagParser.parse(source, into: XcodeObjectHandler()).objects
        } catch {
            throw Self.ofMapping(error)
        }
        var reader = try XcodeObjectReader(objects, source: source, path: path)
        let model = reader.model
        sourceModelPath = model?.attributes["sourcemodelpath"]?.unescapedFromXcode
        destinationModelPath = model?.attributes["destinationmodelpath"]?.unescapedFromXcode
        entities = try reader.entities()
    }

    /// Returns an error of the XML reader, which models and mapping models share, with the code for mapping models.
    private static func ofMapping(_ error: MigrationError) -> MigrationError {
        guard error.code.rawValue.hasPrefix("model.") else { return error }
        var error = error
        error.code = .init(rawValue: "mapping." + error.code.rawValue.dropFirst("model.".count))
        return error
    }
}

/// Assembles entity mappings from the objects of a file.
private struct XcodeObjectReader {
    private let objects: [XcodeObject]
    private let byID: [String: Int]
    /// The objects that refer to an owner by one of the to-one relationships, by the owner's id.
    private let members: [String: [Int]]
    /// The property mappings that an entity mapping has taken. Each belongs to only one.
    private var taken: Set<Int> = []
    private let expressions = ArchivedExpressionReader()
    private let positions: [Int: TextPosition]
    private let path: String
    let model: XcodeObject?

    init(_ objects: [XcodeObject], source: XMLSource, path: String) throws(MigrationError) {
        self.objects = objects
        self.path = path
        positions = source.positions(at: Set(objects.map(\.offset)))
        byID = Dictionary(objects.enumerated().map { ($1.id, $0) }) { $1 }
        var members: [String: [Int]] = [:]
        for (index, object) in objects.enumerated() {
            for owner in Set(["mappingmodel", "entitymapping"].flatMap { object.references[$0] ?? [] }) {
                members[owner, default: []].append(index)
            }
        }
        self.members = members
        model = objects.first { $0.type == "XDDEVMAPPINGMODEL" }
        if byID.count != objects.count {
            var seen: Set<String> = []
            for object in objects where !seen.insert(object.id).inserted {
                throw failure("mapping.duplicateObject", "Two objects have the id \(object.id)", object)
            }
        }
        if model == nil {
            throw MigrationError(
                "mapping.notAMapping", .configuration,
                "The file has no object XDDEVMAPPINGMODEL: it is an XML store of Core Data",
                remedy: "Name an .xcmappingmodel, or the xcmapping.xml in it. To migrate the store, open it in the app "
                    + "or on a Mac by NSPersistentStoreCoordinator, and have it written as an SQLite store "
                    + "(migratePersistentStore to type SQLite)",
                context: .init(path: path))
        }
    }

    private func place(_ object: XcodeObject) -> TextPosition { positions[object.offset] ?? .start }

    private func failure(
        _ code: MigrationError.Code, _ message: String, _ object: XcodeObject, remedy: String? = nil,
        cause: (any Error)? = nil
    ) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy,
            context: .init(path: path, place(object), objectID: object.id), cause: cause)
    }

    /// Returns the objects of a type that another object refers to, or that refer to it, in the order of the file. The file has
    /// both directions.
    private mutating func objects(
        of type: String, from owner: XcodeObject, _ relationship: String
    ) throws(MigrationError) -> [XcodeObject] {
        var indices: Set<Int> = []
        for id in owner.references[relationship] ?? [] {
            guard let index = byID[id], objects[index].type == type else {
                throw failure(
                    "mapping.reference", "\(relationship) refers to an object \(id), which is no \(type) of the file",
                    owner, remedy: "Open and save the mapping model in Xcode")
            }
            indices.insert(index)
        }
        for index in members[owner.id] ?? [] where objects[index].type == type { indices.insert(index) }
        for index in indices where !taken.insert(index).inserted {
            throw failure("mapping.reference", "The object belongs to two others", objects[index])
        }
        return indices.sorted().map { objects[$0] }
    }

    mutating func entities() throws(MigrationError) -> [EntityMapping] {
        guard let model else { return [] }
        var numbered: [(number: Int, entity: EntityMapping)] = []
        for object in try objects(of: "XDDEVENTITYMAPPING", from: model, "entitymappings") {
            guard let entity = try entity(object) else { continue }
            numbered.append((try number(object), entity))
        }
        // Equal numbers are ordered by position.
        return numbered.enumerated().sorted { ($0.element.number, $0.offset) < ($1.element.number, $1.offset) }
            .map(\.element.entity)
    }

    private func number(_ object: XcodeObject) throws(MigrationError) -> Int {
        guard let text = text("mappingnumber", of: object) else { return 0 }
        if let number = Int(text) { return number }
        throw failure("mapping.number", "The mapping number \(text) is no number", object)
    }

    /// Returns a text; nil if it is absent or empty.
    private func text(_ name: String, of object: XcodeObject) -> String? {
        guard let text = object.attributes[name], !text.isEmpty else { return nil }
        return text.unescapedFromXcode
    }

    /// Reads an entity mapping; nil for an empty one. Its type is the one that Xcode's compiler derives.
    private mutating func entity(_ object: XcodeObject) throws(MigrationError) -> EntityMapping? {
        let mapping = EntityMapping()
        mapping.sourceEntityName = text("sourcename", of: object)
        mapping.destinationEntityName = text("destinationname", of: object)
        let attributes = try objects(of: "XDDEVATTRIBUTEMAPPING", from: object, "attributemappings")
        let relationships = try objects(of: "XDDEVRELATIONSHIPMAPPING", from: object, "relationshipmappings")
        if mapping.sourceEntityName == nil, mapping.destinationEntityName == nil {
            if attributes.isEmpty, relationships.isEmpty { return nil }
            throw failure(
                "mapping.type", "The entity mapping has neither a source nor a destination entity, but properties",
                object)
        }
        mapping.name = text("name", of: object) ?? mapping.defaultName
        mapping.place = place(object)
        do throws(MigrationError) {
            mapping.attributeMappings = try properties(attributes, isRelationship: false)
            mapping.relationshipMappings = try properties(relationships, isRelationship: true)
            mapping.entityMigrationPolicyClassName = text("migrationpolicyclassname", of: object)
            mapping.sourceFilter = try filter(object)
            mapping.sourceExpression = try expression("sourceexpressiondata", of: object, "source expression")
            mapping.userInfo = try userInfo(object)
        } catch {
            throw error.inside(.init(entityMapping: mapping.name))
        }
        let isCopy = mapping.sourceEntityName == mapping.destinationEntityName && !mapping.hasPolicy
        mapping.mappingType = isCopy ? .copyEntityMappingType : mapping.effectiveType
        mapping.hasOpenSource = text("autogenerateexpression", of: object) == "1"
        return mapping
    }

    private func filter(_ object: XcodeObject) throws(MigrationError) -> SourcePredicate? {
        guard let text = text("sourcefilterpredicatestring", of: object) else { return nil }
        let filter = try parsed(text, "filter predicate", object, SourcePredicate.init(format:))
        return filter.node == .constant(true) ? nil : filter
    }

    private func parsed<Value>(
        _ text: String, _ what: String, _ object: XcodeObject, _ parse: (String) throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value {
        do throws(MigrationError) { return try parse(text) } catch {
            throw failure(
                "mapping.expression", "The \(what) does not parse: \(error.message)", object, remedy: error.remedy
            ).inside(error.context)
        }
    }

    // MARK: Properties

    private mutating func properties(
        _ objects: [XcodeObject], isRelationship: Bool
    ) throws(MigrationError) -> [PropertyMapping] {
        let properties = try objects.map { object throws(MigrationError) in
            guard let name = text("name", of: object) else {
                throw failure("mapping.missingName", "A property mapping has no name", object)
            }
            let property = PropertyMapping(name: name, valueExpression: nil)
            property.place = place(object)
            do throws(MigrationError) { try fill(property, object, isRelationship) } catch {
                throw error.inside(.init(property: name))
            }
            return property
        }
        return properties.sorted { ($0.name ?? "") < ($1.name ?? "") }
    }

    /// Reads the value of a property. Without an expression and an open part, the property is not touched.
    private mutating func fill(
        _ property: PropertyMapping, _ object: XcodeObject, _ isRelationship: Bool
    ) throws(MigrationError) {
        if object.attributes["valueexpressiondata"]?.isEmpty == false {
            property.valueExpression = try expression("valueexpressiondata", of: object, "value expression")
            return
        }
        let mapping = isRelationship ? text("sourcemappingname", of: object) : nil
        if isRelationship, let text = text("sourcekeypath", of: object) {
            let keyPath = try parsed(text, "source key path", object, ValueExpression.init(parsing:))
            property.openValue = .lookup(keyPath: keyPath, mapping: mapping)
        } else if mapping != nil {
            property.openValue = .lookup(keyPath: nil, mapping: mapping)
        } else if !isRelationship || text("autogenerateexpression", of: object) != "0" {
            // With "0", the expression was written by hand and then emptied.
            property.openValue = .automatic
        }
    }

    // MARK: Archives

    private func expression(
        _ attribute: String, of object: XcodeObject, _ what: String
    ) throws(MigrationError) -> ValueExpression? {
        try decoded(attribute, of: object, what, kind: "expression") { bytes throws(MigrationError) in
            try expressions.decode(bytes)
        }
    }

    private func userInfo(_ object: XcodeObject) throws(MigrationError) -> [AnyHashable: Any]? {
        try decoded("userinfodata", of: object, "userInfo", kind: "userInfo") { bytes throws(MigrationError) in
            try expressions.userInfo(decoding: bytes)
        }
    }

    /// Reads an archive in base64; nil if there is none.
    private func decoded<Value>(
        _ attribute: String, of object: XcodeObject, _ what: String, kind: String,
        _ decode: ([UInt8]) throws(MigrationError) -> Value?
    ) throws(MigrationError) -> Value? {
        let text = object.attributes[attribute] ?? ""
        let digits = text.utf8.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard !digits.isEmpty else { return nil }
        guard let data = Data(base64Encoded: Data(digits)) else {
            throw failure(
                "mapping.base64", "The \(what) is not whole base64", object,
                remedy: "Restore the file from version control")
        }
        do throws(MigrationError) { return try decode(Array(data)) } catch {
            throw failure(
                "mapping.archive", "The \(what)'s archive cannot be read", object,
                remedy: "Open the mapping model in Xcode and write the \(kind) again", cause: error)
        }
    }
}
