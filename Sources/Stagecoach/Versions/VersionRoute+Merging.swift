import Diagnostics
import Mapping

extension VersionRoute {
    /// Lets the inferred mapping models merge objects that would break a uniqueness constraint which a step adds: see
    /// ``InvalidObjects/merge``.
    ///
    /// - Throws: `inference.merge` (78) for objects that cannot be merged, and for a step whose mapping model is given.
    package func mergeDuplicates() throws(MigrationError) {
        for step in steps {
            if let file = step.files.first {
                throw MigrationError(
                    "inference.merge", .configuration,
                    "Objects are merged for a uniqueness constraint where the mapping model is inferred, and this one is given",
                    remedy: "Write \"mergeBy\" into it, and leave out --on-invalid merge", context: .init(path: file))
            }
            for model in step.mappingModels {
                try model.mergeDuplicates(from: step.source.model, to: step.destination.model)
            }
        }
    }
}
