import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach

/// The inputs of a migration after reading: models, mapping models, and the way from version to version.
struct MigrationInputs {
    let request: MigrationRequest
    private(set) var sourceModel: NamedModel
    let destinationModel: NamedModel
    /// The evidence for the version that wrote the store; nil if the user named it.
    let evidence: StoreVersion.Evidence?
    let route: VersionRoute
    /// The models and stages that Swift sources declare; nil if `--to` names none.
    let swiftModels: SwiftModels?
    /// A sentence about numbers of a destination's objects that are not keys.
    var numbering: String?
    /// The version identifiers in the store.
    private let identifiers: [String]
    private var plan: MigrationPlan?
    /// The digests of the policy libraries.
    private let policyCode: [String]
    /// The plan of a way with several migrations; nil for a single one.
    private var chainPlan: ChainPlan?

    /// Reads store, models and mapping models, in this order.
    init(_ request: MigrationRequest) throws(MigrationError) {
        self.request = request
        // The store is checked first: an error about a model would distract if there is no store.
        let store = try ModelArgument.open(request.source)
        let hashes = store.metadata.versionHashes
        identifiers = store.metadata.versionIdentifiers
        try store.close()
        swiftModels = try SwiftModels.find(request, hashes: hashes)
        let bundle = ModelLocator.bundle(of: request.to)
        let source: ModelVersion
        if let from = request.from {
            let named = try ModelArgument.load(from)
            sourceModel = NamedModel(model: named.model.fitting(storeHashes: hashes) ?? named.model, name: named.name)
            destinationModel = try ModelArgument.load(request.to)
            // For a store without version hashes, the tables are the evidence.
            evidence = hashes.isEmpty ? .schema : nil
            source = ModelVersion(name: sourceModel.name, model: sourceModel.model)
        } else {
            // Without --from, the --to bundle may be needed to find the version that wrote the store, so it must exist.
            destinationModel = try ModelArgument.load(request.to)
            // If the model has configurations, the bundle may tell more about the store than its cached model.
            let found = try ModelArgument.ofStore(
                request.source, bundle: request.to, hashes: hashes,
                namesAll: !destinationModel.model.configurations.isEmpty)
            evidence = found.evidence
            source = found.version
            sourceModel = NamedModel(model: found.model, name: found.version.name)
        }
        policyCode = try request.policies.map { library throws(MigrationError) in try PolicyLibrary.load(library) }
        if let path = request.plan {
            let json = Data(try InputFile.read(path, what: "plan"))
            chainPlan = try ChainPlan.read(json: json, path: path)
            plan = chainPlan == nil ? try MigrationPlan.read(json: json, path: path) : nil
        }
        let stops = request.via.isEmpty ? swiftModels?.via ?? [] : request.via
        let via = try stops.map { name throws(MigrationError) in try ModelArgument.stop(name, bundle: bundle) }
        route = try VersionRoute.find(
            from: source, to: ModelVersion(name: destinationModel.name, model: destinationModel.model), bundle: bundle,
            via: via, mappings: request.mappings, changes: request.changes, unmappable: request.options.unmappable)
        for match in request.matches { try match.apply(to: route.steps) }
        if request.options.onInvalid == .merge { try route.mergeDuplicates() }
        sourceModel = NamedModel(model: sourceModel.model, name: route.steps[0].source.name)
        try swiftModels?.check(route.steps)
    }

    /// The model of the store that is made.
    var madeModel: ManagedObjectModel { route.steps.last?.destination.model ?? destinationModel.model }

    /// The mapping models in messages; nil if one is inferred.
    var mapping: String? {
        if route.steps.count == 1 { return route.steps[0].files.isEmpty ? nil : route.steps[0].mapping }
        return request.mapping.map { _ in route.steps.map(\.mapping).joined(separator: "; ") }
    }

    /// Returns the migration, ready to plan or run.
    ///
    /// - Parameter destination: the path of the SQLite store to make; nil: the destination itself.
    func migration(
        to destination: String? = nil, progress: ProgressCounter = .init(), cancellation: CancellationFlag = .init()
    ) -> ChainedMigration {
        var options = request.options
        options.plan = plan
        options.policyCode = policyCode
        options.sourceIsKnownByTables = evidence == .schema
        let migration = ChainedMigration(
            from: request.source, steps: route.steps, to: destination ?? request.destination, options: options,
            progress: progress,
            cancellation: cancellation)
        migration.savedPlan = chainPlan
        if route.steps.count == 1, route.steps[0].files.isEmpty {
            migration.detours = VersionDetours(
                from: route.steps[0].source, to: route.steps[0].destination, bundle: ModelLocator.bundle(of: request.to)
            )
        }
        return migration
    }

    /// True if the store is of the version that it is to be migrated to, and no mapping model changes anything.
    var isAtTarget: Bool {
        guard route.steps.count == 1, route.steps[0].files.isEmpty else { return false }
        let hashes = sourceModel.model.entityVersionHashesByName
        return hashes.count == sourceModel.model.entities.count
            && hashes == destinationModel.model.entityVersionHashesByName
    }

    /// The command's remarks on the way, beyond those of the run itself: a sentence each.
    var notes: [String] {
        var notes = (StandInStore.of(request.source)?.notes ?? []) + [numbering].compactMap(\.self)
        notes += route.leftOut.map(\.sentence)
        if let swiftModels {
            notes += swiftModels.notes(route.steps, model: sourceModel.model)
            notes += [swiftModels.note(onIdentifiers: identifiers)].compactMap { $0 }
        }
        if isAtTarget {
            let name = destinationModel.name.map { "at the version \($0)" } ?? "of the destination's version"
            notes.append("The store is \(name) already: its objects are copied as they are")
        }
        if route.steps.contains(where: \.isBetweenStrangers) {
            notes.append(
                "No entity of the source model becomes one of the destination's, and nothing is migrated: is the destination's the right model?"
            )
        }
        if let name = route.steps[0].source.model.restrictedConfigurations.first,
            let last = route.steps.last?.destination.model
        {
            let isWhole = last.restrictedConfigurations.isEmpty
            notes.append(
                "The store was made for the configuration \(name) of its model: "
                    + (isWhole
                        ? "the destination model has none of that name, so it has all of that model's entities"
                        : "so is the destination"))
        }
        if evidence == .schema {
            notes.append(
                "The store's version hashes are missing or of no known version: its tables are those of "
                    + (sourceModel.name ?? "the source model"))
        }
        return notes
    }
}

extension MigrationStep {
    /// True if no entity mapping leads from an entity of one model to one of the other, and none names a policy that might.
    fileprivate var isBetweenStrangers: Bool {
        !mappingModels.contains { model in
            (model.entityMappings ?? []).contains {
                $0.sourceEntityName != nil && $0.destinationEntityName != nil || $0.hasPolicy
            }
        }
    }
}
