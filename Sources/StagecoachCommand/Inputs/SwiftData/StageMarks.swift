import Mapping
import SwiftSources

/// Marks in a mapping model what the code of a custom stage mentions, for the person who completes it.
enum StageMarks {
    /// The key of the mark in an entity mapping's user info.
    static let key = "customStage"

    /// Marks each entity mapping whose entities have properties that the stage's closures name.
    static func mark(_ mapping: MappingModel, from source: SwiftModelArgument?, to destination: SwiftModelArgument?) {
        guard let source = source?.chosen?.name, let argument = destination, let end = argument.chosen?.name,
            let stage = argument.versions.stages.first(where: { $0.from == source && $0.to == end && $0.isCustom })
        else { return }
        for entity in mapping.entityMappings ?? [] {
            let properties = (entity.attributeMappings ?? []) + (entity.relationshipMappings ?? [])
            let named = properties.compactMap(\.name).filter(stage.words.contains).sorted()
            guard !named.isEmpty else { continue }
            entity.userInfo = (entity.userInfo ?? [:]).merging(
                [Self.key: "\(stage.place) mentions \(named.joined(separator: ", "))"]) { $1 }
        }
    }
}
