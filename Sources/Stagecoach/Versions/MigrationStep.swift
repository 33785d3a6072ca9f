import Mapping

/// One step of a chain of versions: from one version to another, by mapping models in turn.
public struct MigrationStep {
    /// The version that it begins with.
    public var source: ModelVersion
    /// The version that it ends with.
    public var destination: ModelVersion
    /// The mapping models, in turn; a single inferred one if no file was given.
    public var mappingModels: [MappingModel]
    /// The mapping models' files; empty if it is inferred.
    public var files: [String]

    /// Creates a step between two versions.
    ///
    /// - Parameters:
    ///   - source: the version that it begins with.
    ///   - destination: the version that it ends with.
    ///   - mappingModels: at least one.
    ///   - files: the mapping models' files; empty if it is inferred.
    public init(
        from source: ModelVersion, to destination: ModelVersion, mappingModels: [MappingModel], files: [String] = []
    ) {
        self.source = source
        self.destination = destination
        self.mappingModels = mappingModels
        self.files = files
    }

    /// `A → B`.
    package var label: String { "\(source.label) → \(destination.label)" }
    /// The mapping models' files, for people.
    package var mapping: String { files.isEmpty ? "inferred" : files.joined(separator: ", ") }
}

/// Steps that run as one migration: a single one, or several whose mapping models are composed.
struct ChainRun {
    var steps: [MigrationStep]
    var mappingModels: [MappingModel]
    /// The reason why the next step is not part of it; nil for the last.
    var obstacle: String?

    /// `A → B`.
    var label: String { "\(source.label) → \(destination.label)" }
    var source: ModelVersion { steps[0].source }
    var destination: ModelVersion { steps[steps.count - 1].destination }

    /// Cuts a chain into runs, each as long as its mapping models compose.
    ///
    /// - Precondition: there is at least one step.
    /// - Parameter planned: the number of steps in each run according to a saved plan; nil: as many as possible. Steps
    ///   that a plan fuses but that do not compose become runs of their own.
    static func cut(
        _ steps: [MigrationStep], options: MigrationOptions, appends: Bool, fuses: Bool, planned: [Int]? = nil
    ) -> [ChainRun] {
        var starts: Set<Int> = []
        if let planned {
            var first = 0
            for count in planned {
                starts.insert(first)
                first += max(1, count)
            }
        }
        var runs: [ChainRun] = []
        for (index, step) in steps.enumerated() {
            let next = ChainRun(steps: [step], mappingModels: step.mappingModels)
            guard let last = runs.last else {
                runs.append(next)
                continue
            }
            let isLastStep = index == steps.count - 1
            do throws(MappingComposition.Obstacle) {
                if starts.contains(index) { throw MappingComposition.Obstacle("the plan cuts here") }
                let composed = try compose(last, next, options, appends: appends && isLastStep, fuses: fuses)
                runs[runs.count - 1].steps.append(step)
                runs[runs.count - 1].mappingModels = [composed]
            } catch {
                runs[runs.count - 1].obstacle = error.reason
                runs.append(next)
            }
        }
        return runs
    }

    private static func compose(
        _ first: ChainRun, _ second: ChainRun, _ options: MigrationOptions, appends: Bool, fuses: Bool
    ) throws(MappingComposition.Obstacle) -> MappingModel {
        if !fuses { throw .init("steps are asked for one by one") }
        if options.onInvalid == .reject { throw .init("each version's rules reject objects of their own") }
        if options.keys == .sequential { throw .init("objects get new keys") }
        if !options.passNames.isEmpty { throw .init("passes are asked for by the names of entity mappings") }
        if appends { throw .init("objects are added to an existing store") }
        guard first.mappingModels.count == 1, second.mappingModels.count == 1 else {
            throw .init("several mapping models run one after the other")
        }
        return try MappingComposition.compose(
            first.mappingModels[0], second.mappingModels[0], source: first.source.model,
            middle: second.source.model, destination: second.destination.model, excuses: !options.strictValidation)
    }
}
