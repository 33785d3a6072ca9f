import Foundation
import TestSupport
import Testing

@testable import ManagedModel

/// Hashes of entities with derived and composite attributes, as real stores have them.
@Suite(
    "Version hashes of derived and composite attributes",
    .enabled(if: SharedStores.isPresent, "the shared stores are not here"))
struct DerivedVectorTests {
    private struct Element: Decodable {
        var name: String
        var type: UInt32
        var optional: Bool
    }

    private struct Property: Decodable {
        var name: String
        var kind: String
        var optional: Bool
        var transient: Bool
        var type: UInt32?
        var propertyHash: String?
        var hashText: String?
        var elements: [Element]?
        var destination: String?
        var inverse: String?
        var minCount: Int?
        var maxCount: Int?
        var ordered: Bool?
    }

    private struct Vector: Decodable {
        var source: String
        var entity: String
        var abstract: Bool
        var superentity: String?
        var uniqueness: [String]
        var properties: [Property]
        var hash: String
    }

    private static func vectors() throws -> [Vector] {
        try JSONDecoder().decode(
            [Vector].self,
            from: Data(contentsOf: SharedStores.shared.appendingPathComponent("version-hash-vectors-2.json")))
    }

    /// A model with a vector's entity, the one above it, and the other sides of its relationships.
    private static func model(_ vector: Vector, among all: [Vector]) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        let parent = all.first { $0.source == vector.source && $0.entity == vector.superentity }
        for own in [parent, vector].compactMap(\.self) {
            var entity = EntityDefinition(name: own.entity)
            entity.superentityName = own.superentity
            entity.isAbstract = own.abstract
            entity.uniquenessConstraints = own.uniqueness.map { [$0] }
            let inherited = Set(own.superentity == nil ? [] : parent?.properties.map(\.name) ?? [])
            for property in own.properties where !inherited.contains(property.name) {
                if property.kind == "relationship" {
                    try add(relationship: property, to: &entity, &definition)
                } else {
                    entity.attributes.append(try attribute(property, own.entity, &definition))
                }
            }
            definition.entities.append(entity)
        }
        return try ManagedObjectModel(definition)
    }

    private static func attribute(
        _ property: Property, _ entity: String, _ definition: inout ModelDefinition
    ) throws -> AttributeDefinition {
        let type = try #require(property.type.flatMap(AttributeType.init(rawValue:)))
        var attribute = AttributeDefinition(name: property.name, type: type)
        attribute.isOptional = property.optional
        attribute.isTransient = property.transient
        attribute.derivationExpression = property.hashText
        if let elements = property.elements {
            attribute.compositeName = "\(entity).\(property.name)"
            definition.composites["\(entity).\(property.name)"] = try elements.map { element in
                var part = AttributeDefinition(
                    name: element.name, type: try #require(AttributeType(rawValue: element.type)))
                part.isOptional = element.optional
                return part
            }
        }
        return attribute
    }

    private static func add(
        relationship property: Property, to entity: inout EntityDefinition, _ definition: inout ModelDefinition
    ) throws {
        let name = try #require(property.destination)
        var relationship = RelationshipDefinition(name: property.name, destinationEntityName: name)
        relationship.isOptional = property.optional
        relationship.isTransient = property.transient
        relationship.inverseName = property.inverse
        relationship.maximumCount = property.maxCount ?? 0
        relationship.minimumCount = property.minCount ?? 0
        relationship.isToMany = relationship.maximumCount != 1
        relationship.isOrdered = property.ordered ?? false
        entity.relationships.append(relationship)
        var back = RelationshipDefinition(name: property.inverse ?? "", destinationEntityName: entity.name)
        back.inverseName = property.name
        back.isToMany = true
        guard property.inverse != nil else {
            if !definition.entities.contains(where: { $0.name == name }) {
                definition.entities.append(EntityDefinition(name: name))
            }
            return
        }
        if let place = definition.entities.firstIndex(where: { $0.name == name }) {
            definition.entities[place].relationships.append(back)
        } else {
            var other = EntityDefinition(name: name)
            other.relationships = [back]
            definition.entities.append(other)
        }
    }

    @Test("Every entity's and property's hash comes out")
    func hashes() throws {
        let vectors = try Self.vectors()
        #expect(vectors.count == 6)
        for vector in vectors {
            let model = try Self.model(vector, among: vectors)
            let entity = try #require(model.entity(named: vector.entity))
            let properties = VersionHash.propertyHashes(of: entity)
            for property in vector.properties {
                guard let hash = property.propertyHash else { continue }
                #expect(properties[property.name]?.bytes?.hexadecimal == hash, "\(vector.entity).\(property.name)")
            }
            let hashes = VersionHash.entityHashes(of: model)
            #expect(hashes[vector.entity]?.bytes?.hexadecimal == vector.hash, "\(vector.source) \(vector.entity)")
        }
        print("vectors of derived and composite attributes: \(vectors.count)")
    }
}
