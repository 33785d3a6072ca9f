import Diagnostics
import ManagedModel
import Synchronization

/// Models that are named together, `--to A --to B`: merged into one, as Core Data merges the models of an app.
enum MergedModels {
    private static let names = Mutex<Set<String>>([])

    /// Returns the argument that names some models together. Several are read, merged, and made known to ``ModelLocator`` under
    /// one name; an error of theirs is thrown where the merged model is used.
    ///
    /// - Complexity: as reading each of them, where there are several.
    static func admit(_ arguments: [String]) -> String? {
        guard arguments.count > 1 else { return arguments.last }
        let name = arguments.map(PathIdentity.withoutSlash).joined(separator: " + ")
        guard names.withLock({ $0.insert(name).inserted }) else { return name }
        var version = name
        let model = Result { () throws(MigrationError) -> ManagedObjectModel in
            let parts = try arguments.map { argument throws(MigrationError) in
                (name: argument, loaded: try ModelArgument.load(argument))
            }
            let known = parts.compactMap(\.loaded.name)
            if known.count == parts.count { version = known.joined(separator: " + ") }
            return try ManagedObjectModel(merging: parts.map { (name: $0.name, model: $0.loaded.model) })
        }
        DerivedBundle.register(DerivedBundle(path: name, versions: [.init(name: version, model: model)]))
        return name
    }

    /// Tells whether an argument is the name of a merged model.
    static func isName(_ argument: String) -> Bool { names.withLock { $0.contains(argument) } }
}

extension ParsedArguments {
    /// The arguments with one model where several are named together.
    ///
    /// - Parameter operands: true if the operands are models, or the first of them is.
    func mergingModels(operands: Bool) -> ParsedArguments {
        var merged = self
        for option in ["to", "from", "model"] {
            let given = all(option)
            if given.count > 1 { merged.replace(option, by: MergedModels.admit(given)) }
        }
        if operands, self.operands.count > 1, let name = MergedModels.admit(self.operands) {
            merged.operands = [name]
        }
        return merged
    }
}
