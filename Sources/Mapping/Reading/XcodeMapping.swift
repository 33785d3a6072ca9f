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
    /// The computation of a property.
    enum Content {
        /// The compiler fills the expression in.
        case automatic
        /// The value is nil and there is no expression: the property is not touched.
        case unset
        case expression(ValueExpression)
        /// A relationship: the objects that an entity mapping made of the objects at a key path. Nil parts are filled in.
        case lookup(keyPath: ValueExpression?, mapping: String?)
    }

    struct Property {
        let name: String
        let isRelationship: Bool
        let content: Content
        let place: TextPosition
    }

    struct Entity {
        let name: String
        let source: String?
        let destination: String?
        let policy: String?
        let filter: SourcePredicate?
        let sourceExpression: ValueExpression?
        /// True if the compiler fills the source expression in. An existing one may then be a leftover.
        let isSourceAutomatic: Bool
        let userInfo: [AnyHashable: Any]?
        /// The attributes and relationships, sorted by name, because the file has no order.
        let properties: [Property]
        let place: TextPosition
    }

    let path: String
    /// The path of the model for Xcode, relative to a project: a hint.
    let sourceModelPath: String?
    let destinationModelPath: String?
    let entities: [Entity]

    /// Reads the bytes of an `xcmapping.xml`. A document type is not resolved; entities are refused.
    ///
    /// - Throws: `mapping.xml`, `mapping.encoding`, `mapping.documentType`, `mapping.tooLarge`, `mapping.tooDeep`,
    ///   `mapping.notAMapping`, `mapping.missingAttribute`, `mapping.duplicateObject`, `mapping.reference`,
    ///   `mapping.number`, `mapping.missingName`, `mapping.base64`, `mapping.archive`, `mapping.expression`; all 78, with
    ///   path, line and column, entity mapping and property as far as they are known.
    /// - Complexity: O(file).
    init(_ bytes: [UInt8], path: String) throws(MigrationError) {
        self.path = path
        let handler = XcodeObjectHandler()
        let source: XMLSource
        do throws(MigrationError) {
            source = try XMLSource(
                Data(bytes), path: path, allowsDocumentType: true, byteLimit: MappingFile.greatestByteCount)
            try XMLTagParser.parse(source, into: handler)
        } catch {
            throw Self.ofMapping(error)
        }
        var reader = try XcodeObjectReader(handler.objects, source: source, path: path)
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
    /// The common bound of the walks over all archives of the file.
    private var tree = ArchivedExpression.treeGuard
    private let positions: [Int: ManagedModel.TextPosition]
    private let path: String
    let model: XcodeObject?

    init(_ objects: [XcodeObject], source: XMLSource, path: String) throws(MigrationError) {
        self.objects = objects
        self.path = path
        positions = source.positions(at: Set(objects.map(\.offset)))
        var byID: [String: Int] = [:]
        for (index, object) in objects.enumerated() { byID[object.id] = index }
        self.byID = byID
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
                "The file holds no XDDEVMAPPINGMODEL object: it may be an XML store of Core Data",
                remedy: "Name an .xcmappingmodel, or the xcmapping.xml in it", context: .init(path: path))
        }
    }

    private func place(_ object: XcodeObject) -> TextPosition {
        let position = positions[object.offset]
        return TextPosition(line: position?.line ?? 1, column: position?.column ?? 1)
    }

    private func failure(
        _ code: MigrationError.Code, _ message: String, _ object: XcodeObject, remedy: String? = nil,
        cause: (any Error)? = nil
    ) -> MigrationError {
        let place = place(object)
        return MigrationError(
            code, .configuration, message, remedy: remedy,
            context: .init(path: path, line: place.line, column: place.column, objectID: object.id), cause: cause)
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

    mutating func entities() throws(MigrationError) -> [XcodeMapping.Entity] {
        guard let model else { return [] }
        var numbered: [(number: Int, entity: XcodeMapping.Entity)] = []
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
        guard let number = Int(text) else {
            throw failure("mapping.number", "The mapping number \(text) is no number", object)
        }
        return number
    }

    /// Returns a text; nil if it is absent or empty.
    private func text(_ name: String, of object: XcodeObject) -> String? {
        guard let text = object.attributes[name], !text.isEmpty else { return nil }
        return text.unescapedFromXcode
    }

    /// Reads an entity mapping; nil for an empty one.
    private mutating func entity(_ object: XcodeObject) throws(MigrationError) -> XcodeMapping.Entity? {
        let source = text("sourcename", of: object)
        let destination = text("destinationname", of: object)
        let attributes = try objects(of: "XDDEVATTRIBUTEMAPPING", from: object, "attributemappings")
        let relationships = try objects(of: "XDDEVRELATIONSHIPMAPPING", from: object, "relationshipmappings")
        if source == nil, destination == nil {
            if attributes.isEmpty, relationships.isEmpty { return nil }
            throw failure(
                "mapping.type", "The entity mapping has neither a source nor a destination entity, but properties",
                object)
        }
        let name = text("name", of: object) ?? [source, destination].compactMap { $0 }.joined(separator: "To")
        do throws(MigrationError) {
            var properties: [XcodeMapping.Property] = []
            for object in attributes { properties.append(try property(object, isRelationship: false)) }
            for object in relationships { properties.append(try property(object, isRelationship: true)) }
            properties.sort { ($0.name, $0.isRelationship ? 1 : 0) < ($1.name, $1.isRelationship ? 1 : 0) }
            return XcodeMapping.Entity(
                name: name, source: source, destination: destination,
                policy: text("migrationpolicyclassname", of: object), filter: try filter(object),
                sourceExpression: try expression("sourceexpressiondata", of: object, "source expression"),
                isSourceAutomatic: text("autogenerateexpression", of: object) == "1",
                userInfo: try userInfo(object), properties: properties, place: place(object))
        } catch {
            throw error.inside(.init(entityMapping: name))
        }
    }

    private func filter(_ object: XcodeObject) throws(MigrationError) -> SourcePredicate? {
        guard let text = text("sourcefilterpredicatestring", of: object) else { return nil }
        do throws(MigrationError) {
            let filter = try SourcePredicate(format: text)
            return filter.node == .constant(true) ? nil : filter
        } catch {
            throw failure(
                "mapping.expression", "The filter predicate does not parse: \(error.message)", object,
                remedy: error.remedy
            ).inside(error.context)
        }
    }

    // MARK: Properties

    private mutating func property(
        _ object: XcodeObject, isRelationship: Bool
    ) throws(MigrationError) -> XcodeMapping.Property {
        guard let name = text("name", of: object) else {
            throw failure("mapping.missingName", "A property mapping has no name", object)
        }
        do throws(MigrationError) {
            return XcodeMapping.Property(
                name: name, isRelationship: isRelationship, content: try content(object, isRelationship),
                place: place(object))
        } catch {
            throw error.inside(.init(property: name))
        }
    }

    private mutating func content(
        _ object: XcodeObject, _ isRelationship: Bool
    ) throws(MigrationError) -> XcodeMapping.Content {
        if object.attributes["valueexpressiondata"]?.isEmpty == false {
            return try expression("valueexpressiondata", of: object, "value expression")
                .map { .expression($0) } ?? .unset
        }
        guard isRelationship else { return .automatic }
        let mapping = text("sourcemappingname", of: object)
        if let keyPath = text("sourcekeypath", of: object) {
            do throws(MigrationError) {
                return .lookup(keyPath: try ValueExpression(parsing: keyPath), mapping: mapping)
            } catch {
                throw failure(
                    "mapping.expression", "The source key path does not parse: \(error.message)", object,
                    remedy: error.remedy
                ).inside(error.context)
            }
        }
        if mapping != nil { return .lookup(keyPath: nil, mapping: mapping) }
        // The expression was written by hand and then emptied.
        return text("autogenerateexpression", of: object) == "0" ? .unset : .automatic
    }

    // MARK: Archives

    private mutating func expression(
        _ attribute: String, of object: XcodeObject, _ what: String
    ) throws(MigrationError) -> ValueExpression? {
        guard let bytes = try bytes(attribute, of: object, what) else { return nil }
        do throws(MigrationError) {
            return try ArchivedExpression.decode(bytes, &tree)
        } catch {
            throw failure(
                "mapping.archive", "The \(what)'s archive cannot be read", object,
                remedy: "Open the mapping model in Xcode and write the expression again", cause: error)
        }
    }

    private mutating func userInfo(_ object: XcodeObject) throws(MigrationError) -> [AnyHashable: Any]? {
        guard let bytes = try bytes("userinfodata", of: object, "userInfo") else { return nil }
        do throws(MigrationError) {
            return try ArchivedUserInfo.decode(bytes, &tree)
        } catch {
            throw failure(
                "mapping.archive", "The userInfo's archive cannot be read", object,
                remedy: "Open the mapping model in Xcode and write the userInfo again", cause: error)
        }
    }

    private func bytes(
        _ attribute: String, of object: XcodeObject, _ what: String
    ) throws(MigrationError) -> [UInt8]? {
        guard let text = object.attributes[attribute] else { return nil }
        let digits = text.utf8.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard !digits.isEmpty else { return nil }
        guard let data = Data(base64Encoded: Data(digits)) else {
            throw failure(
                "mapping.base64", "The \(what) is not whole base64", object,
                remedy: "Restore the file from version control")
        }
        return Array(data)
    }
}
