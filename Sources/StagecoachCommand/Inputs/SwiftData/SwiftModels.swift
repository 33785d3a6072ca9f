import Diagnostics
import ManagedModel
import Stagecoach
import SwiftSources

/// The handling of entities that were derived from sources and that no hash at hand confirms.
enum UncheckedEntities: String {
    case refuse, allow
}

/// The handling of custom stages that no given mapping model stands for.
enum UnmappedStages: String {
    case refuse, structure
}

/// The part of a migration's inputs that Swift sources decide: the way through the stages of their plan, custom stages, and the
/// evidence for what was derived.
struct SwiftModels {
    private let destination: SwiftModelArgument
    private let hashes: [String: [UInt8]]
    private let request: MigrationRequest
    /// The version of the sources that wrote the store; nil if none did.
    private let source: SourceModelVersion?

    /// Reads the sources that `--to` and `--from` name.
    ///
    /// - Parameter hashes: the version hashes of the store.
    /// - Returns: nil if `--to` names none.
    /// - Throws: the errors of the sources, and of `--like`.
    static func find(
        _ request: MigrationRequest, hashes: [String: [UInt8]]
    ) throws(MigrationError) -> SwiftModels? {
        var known = [KnownHashes(origin: request.source, hashes: hashes)]
        for path in request.like { known.append(try LikeArgument.load(path)) }
        let from = try SwiftModelArgument.admit(request.from, known: known)
        guard let destination = try SwiftModelArgument.admit(request.to, known: known) else { return nil }
        let said = from.flatMap { $0.path == destination.path ? $0.chosen : nil }
        return SwiftModels(
            destination: destination, hashes: hashes, request: request, source: said ?? destination.version(of: hashes))
    }

    /// The stages of the plan from the store's version to the destination; nil if the plan has no such way.
    private var stages: [SourceStage]? {
        guard let source, let end = destination.chosen else { return nil }
        return destination.versions.stages(from: source.name, to: end.name)
    }

    /// The versions between the store's and the destination by the stages of the plan; empty if there is no such way.
    var via: [String] { (stages ?? []).dropLast().map(\.to) }

    /// The custom stages on the way. Without a way by stages they are those that lead to versions behind the store's, up to the
    /// destination; the versions of a plan are in order.
    private var customStages: [SourceStage] {
        if let stages { return stages.filter(\.isCustom) }
        let order = destination.versions.versions.map(\.name)
        guard let end = destination.chosen.flatMap({ order.firstIndex(of: $0.name) }) else { return [] }
        let start = source.flatMap { order.firstIndex(of: $0.name) }.map { $0 + 1 } ?? 0
        let behind = Set(start <= end ? order[start...end] : [])
        return destination.versions.stages.filter { $0.isCustom && behind.contains($0.to) }
    }

    /// The custom stages for which a way has no mapping model of the user's.
    private func unmapped(_ steps: [MigrationStep]) -> [SourceStage] {
        customStages.filter { stage in
            !steps.contains { $0.source.name == stage.from && $0.destination.name == stage.to && !$0.files.isEmpty }
        }
    }

    /// Refuses a way over a custom stage without a mapping model.
    ///
    /// - Throws: `swift.customStage` (78) with the stage's file and line.
    func check(_ steps: [MigrationStep]) throws(MigrationError) {
        guard request.unmappedStages == .refuse, let stage = unmapped(steps).first else { return }
        let path = destination.path
        let remedy =
            source == nil
            ? "Name the sources of the commit that wrote the store, or give --unmapped-stages structure"
            : "Write what its code does into a mapping model: stagecoach infer --from '\(path):\(stage.from)' --to '\(path):\(stage.to)' -o stage.json begins one, and --mapping '\(stage.from)..\(stage.to)=stage.json' gives it; or give --unmapped-stages structure"
        throw MigrationError(
            "swift.customStage", .configuration,
            "The custom stage from \(stage.from) to \(stage.to) runs code of the app, which is not run here"
                + (source == nil ? ", and nobody knows if it lies before the store's version" : ""),
            remedy: remedy, context: .init(path: stage.place.file, line: stage.place.line))
    }

    /// Refuses to write a store of entities that nothing confirms.
    ///
    /// - Throws: `swift.unchecked` (78).
    func checkWriting() throws(MigrationError) {
        guard let version = destination.chosen, request.unchecked == .refuse, !version.unchecked.isEmpty else { return }
        let first = version.unchecked.first.flatMap { version.places[$0] } ?? version.place
        throw MigrationError(
            "swift.unchecked", .configuration,
            "Nothing at hand confirms that \(version.unchecked.joined(separator: ", ")) of \(version.name) are as SwiftData makes them",
            remedy:
                "Name a store of \(version.name) with --like, an empty one is enough, or a list of its version hashes; or give --unchecked allow",
            context: .init(path: first.file, line: first.line))
    }

    /// Returns an error with the advice for a property whose initial value in the sources is an expression: a model has no value
    /// for it, so that objects which are there already get none.
    func explained(_ error: MigrationError) -> MigrationError {
        guard error.category == .data, error.code.rawValue == "validation.missing", let version = destination.chosen,
            let entity = error.context.entity, let property = error.context.property
        else { return error }
        // An element of a structure has the structure's value.
        let attribute = property.split(separator: ".").first.map(String.init) ?? property
        guard let text = version.expressions["\(entity).\(attribute)"] else { return error }
        let definition = (try? version.model.get())?.entity(named: entity)?.definition
        let isIdentifier = definition?.attributes.contains { $0.name == attribute && $0.type == .uuid } == true
        let line = isIdentifier ? Self.ownIdentifier : "EXPRESSION"
        var explained = error
        explained.remedy =
            "The sources give it \(text), which a new object gets and no model has: say in a mapping model what objects that are there already get, \"\(property)\": \"\(line)\" (infer writes one to begin with); or make the property optional"
        return explained
    }

    /// The expression that makes a UUID of an object's own URI, the same in each run.
    private static let ownIdentifier =
        "FUNCTION($stagecoach, 'uuidFromName:', $source.objectID.URIRepresentation.absoluteString)"

    /// The facts about the sources for a plan or a report, a sentence each.
    ///
    /// - Parameter model: the model of the store.
    func notes(_ steps: [MigrationStep], model: ManagedObjectModel) -> [String] {
        var notes = destination.versions.warnings
        if let version = destination.chosen { notes += SwiftModelWording.standing(of: version) }
        if source == nil { notes += SwiftModelWording.nearest(destination, to: hashes, model: model) }
        notes += valuesLeftOut(model)
        notes += unmapped(steps).map { "\($0.label) is migrated by structure only: its code does not run" }
        return notes
    }

    /// The required structures and enumerations that are new, and whose elements are all optional: no rule asks for a value of
    /// them, and their initial values are expressions.
    private func valuesLeftOut(_ model: ManagedObjectModel) -> [String] {
        guard let version = destination.chosen, case .success(let derived) = version.model else { return [] }
        return derived.definition.entities.flatMap { entity in
            let old = model.entity(named: entity.renamingIdentifier ?? entity.name)?.definition.attributes
            return entity.attributes.compactMap { attribute -> String? in
                let label = "\(entity.name).\(attribute.name)"
                let elements = attribute.compositeName.flatMap { derived.definition.composites[$0] } ?? []
                guard let old, !attribute.isOptional, let text = version.expressions[label], !elements.isEmpty,
                    elements.allSatisfy(\.isOptional),
                    !old.contains(where: { [attribute.name, attribute.renamingIdentifier].contains($0.name) })
                else { return nil }
                return
                    "\(label) begins with \(text) in the sources: objects that are there already get no value, where a mapping model gives none"
            }
        }
    }

    /// The note on a store whose own identifier is that of another version.
    func note(onIdentifiers identifiers: [String]) -> String? {
        guard let source, let own = source.identifier, let said = identifiers.first, !said.isEmpty, said != own else {
            return nil
        }
        return
            "The store says the identifier \(said), and its hashes are those of \(source.name), which says \(own): the hashes count"
    }
}
