import Diagnostics

extension MigrationError {
    /// Makes the error for a model that contradicts itself: category `configuration`, with the entity and the property.
    static func model(
        _ code: Code, _ message: String, remedy: String, _ entity: String, _ property: String? = nil
    ) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy, context: .init(entity: entity, property: property))
    }
}

/// The rules of a model that need no resolved entities: names and counts.
///
/// They apply to models of every origin, so that later code may rely on them: names of the schema go into SQL, and walks over
/// parents and composites must end.
enum ModelChecks {
    /// The greatest number of levels of parents; the deepest known model has five.
    static let greatestDepth = 200
    /// The greatest number of properties, with inherited ones counted in each entity.
    static let greatestPropertyCount = 1_000_000

    /// - Throws: `model.invalidName` for a name with a character that SQLite does not accept without quotes. Core Data allows
    ///   none in names and quotes none in its schema.
    static func checkName(_ name: String, entity: String, property: String? = nil) throws(MigrationError) {
        let isValid = name.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_", "$": true
            default: scalar.value >= 0x80
            }
        }
        guard isValid, !name.isEmpty else {
            throw .model(
                "model.invalidName", "The name \"\(name)\" is not made of letters, digits and _",
                remedy: "Rename it in the model", entity, property)
        }
    }

    /// Returns the relationship with counts that agree with its being to-many or not: a to-one relationship has the maximum
    /// count 1.
    ///
    /// - Throws: `model.relationshipCount` if they contradict each other.
    static func normalized(
        _ relationship: RelationshipDefinition, entity: String
    ) throws(MigrationError) -> RelationshipDefinition {
        var relationship = relationship
        if !relationship.isToMany, relationship.maximumCount == 0 { relationship.maximumCount = 1 }
        let greatest = relationship.maximumCount
        let problem: String? =
            if relationship.isToMany, greatest == 1 {
                "is to-many, but has at most one object"
            } else if !relationship.isToMany, greatest != 1 {
                "is to-one, but has at most \(greatest) objects"
            } else if relationship.minimumCount < 0 {
                "has a negative least count"
            } else if greatest > 0, relationship.minimumCount > greatest {
                "has at least \(relationship.minimumCount), but at most \(greatest) objects"
            } else {
                nil
            }
        if let problem {
            throw .model(
                "model.relationshipCount", "The relationship \(problem)", remedy: "Correct the counts in the model",
                entity, relationship.name)
        }
        return relationship
    }

    /// Checks that the entities of configurations exist.
    ///
    /// - Throws: `model.unknownConfigurationEntity`.
    static func checkConfigurations(
        _ definition: ModelDefinition, entities: [String: Int]
    ) throws(MigrationError) {
        for (name, members) in definition.configurations.sorted(by: { $0.key < $1.key }) {
            for member in members where entities[member] == nil {
                throw .model(
                    "model.unknownConfigurationEntity",
                    "The configuration \(name) names the entity \(member), which does not exist",
                    remedy: "Remove it from the configuration", member)
            }
        }
    }
}
