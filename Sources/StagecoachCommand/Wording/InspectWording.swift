import Mapping

/// The words of `inspect`.
enum InspectWording {
    static func text(_ store: StoreDescription) -> String {
        let identifiers = store.modelVersionIdentifiers.joined(separator: ", ")
        let facts = [[String]](facts: [
            "UUID": store.uuid, "framework version": store.frameworkVersion.map { "\($0)" } ?? "not said",
            "model version": identifiers.isEmpty ? "unnamed" : identifiers, "version checksum": store.versionChecksum,
            "written by": store.version.map(words), "configuration": store.configurations.joined(separator: " or "),
            "cached model": store.hasCachedModel ? "yes" : "no",
            "file": Figures.size(store.fileBytes)
                + (store.pageSize.map { ", pages of \(Figures.count($0)) bytes" } ?? ", a store of type \(store.type)"),
            "journal mode": store.journalMode.map { mode in
                mode + (store.walBytes.map { ", -wal of \(Figures.size($0))" } ?? "")
            },
            "application's keys": store.applicationKeys.joined(separator: ", "),
        ])
        var lines = ["Store \(store.path)"] + facts.lines()
        let rows = store.entities.map {
            [$0.name, $0.number.map { "\($0)" } ?? "", $0.parent ?? ""]
                + [$0.objects.map(Figures.count) ?? "?", $0.maximumKey.map(Figures.count) ?? ""]
        }
        lines += ([["", "Z_ENT", "parent", "objects", "Z_MAX"]] + rows).lines(right: [1, 3, 4]).titled("Entities")
        lines += store.damages.titled("Missing in the store (--repair reads it as empty or nil)", indent: 2)
        lines += store.features.titled("Features", indent: 2)
        return lines.printableText
    }

    private static func words(for version: StoreDescription.Version) -> String {
        let names = version.versions.joined(separator: ", ")
        let left = version.withoutHashes.joined(separator: ", ")
        switch version.evidence {
        case .hashes?:
            return left.isEmpty
                ? "\(names): the version hashes are equal"
                : "\(names): the version hashes that the store has are equal; it has none of \(left)"
        case .cachedModel? where !names.isEmpty: return "\(names): the cached model is equal"
        case .schema? where !left.isEmpty:
            return "\(names): tables and columns are equal; the store has no version hash of \(left)"
        case .schema?: return "\(names): tables and columns are equal, the version hashes are not"
        case .cachedModel?, nil: return "not in \(version.bundle): \(version.problem ?? "")"
        }
    }

    static func text(_ model: ModelDescription) -> String {
        let facts = [[String]](facts: [
            "version": model.version, "versions": model.versions.joined(separator: ", "),
            "identifiers": model.versionIdentifiers.joined(separator: ", "),
            "version checksum": model.versionChecksum ?? "known to Core Data only",
            "entities": Figures.count(model.entities.count),
        ])
        var lines = ["Model \(model.path)"] + facts.lines()
        for entity in model.entities {
            lines += ["", "Entity \(entity.name)\(traits(of: entity))"]
            lines.append("  version hash \(entity.versionHash ?? "known to Core Data only")")
            var rows = entity.attributes.map { attribute in
                [
                    attribute.name, attribute.type,
                    traits([
                        attribute.isOptional ? "optional" : "required", attribute.isTransient ? "transient" : nil,
                        attribute.renamingIdentifier.map { "was \($0)" },
                    ]),
                ]
            }
            rows += entity.relationships.map { relationship in
                [
                    relationship.name,
                    "\(relationship.isOrdered ? "ordered " : "")\(relationship.isToMany ? "to-many" : "to-one") \(relationship.destination)",
                    traits([
                        relationship.isOptional ? "optional" : "required",
                        relationship.inverse.map { "inverse \($0)" } ?? "no inverse",
                        relationship.renamingIdentifier.map { "was \($0)" },
                    ]),
                ]
            }
            lines += rows.lines()
        }
        lines += model.sources?.lines ?? []
        return lines.printableText
    }

    static func text(_ outline: MappingOutline, path: String) -> String {
        func said(_ facts: KeyValuePairs<String, String?>) -> [String] {
            facts.compactMap { name, value in value.map { "  \(name)  \($0)" } }
        }
        var lines = ["Mapping model \(path)"]
        lines += said([
            "format version": outline.formatVersion.map { "\($0)" },
            "versions": outline.from.flatMap { from in outline.to.map { "\(from) → \($0)" } },
            "rules of the source": outline.rulesOfTheSource.map { "\($0)" }, "source model": outline.sourceModelPath,
            "destination model": outline.destinationModelPath,
            "entity mappings": Figures.count(outline.entityMappings.count)
                + (outline.unlisted == nil ? "" : ", the others inferred"),
        ])
        for mapping in outline.entityMappings {
            let ends = "\(mapping.sourceEntity ?? "-") → \(mapping.destinationEntity ?? "-")"
            lines += ["", [mapping.name, ends, mapping.mappingType].compactMap { $0 }.joined(separator: "  ")]
            lines += said([
                "source version hash": mapping.sourceEntityVersionHash,
                "destination version hash": mapping.destinationEntityVersionHash, "source filter": mapping.sourceFilter,
                "source expression": mapping.sourceExpression,
                "distinct by": mapping.distinctBy?.joined(separator: ", "),
                "merged by": mapping.mergeBy?.joined(separator: ", "), "for each": mapping.forEach,
                "matched by": mapping.matchBy?.joined(separator: ", "),
                "migration policy": mapping.migrationPolicy,
            ])
            let rows = (mapping.attributes + mapping.relationships).map {
                [$0.name, $0.isAutomatic ? "automatic" : $0.expression ?? "no expression"]
            }
            lines += rows.lines()
        }
        return lines.printableText
    }

    private static func traits(of entity: ModelDescription.Entity) -> String {
        let said = traits([
            entity.isAbstract ? "abstract" : nil, entity.parent.map { "below \($0)" },
            entity.renamingIdentifier.map { "was \($0)" },
        ])
        return said.isEmpty ? "" : ": \(said)"
    }

    private static func traits(_ words: [String?]) -> String { words.compactMap { $0 }.joined(separator: ", ") }
}
