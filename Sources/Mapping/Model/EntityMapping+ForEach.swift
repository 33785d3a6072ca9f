import Diagnostics

/// Entity mappings with `forEach`, which make an object for each member of a collection. `$member` is the member then, and
/// `$index` its place, counted from 0.
extension EntityMapping {
    /// The names of the two variables.
    package static let memberVariable = "member"
    package static let indexVariable = "index"

    /// The reason why the mapping cannot have `forEach`; nil if it can.
    var forEachProblem: (message: String, remedy: String)? {
        if hasPolicy {
            return (
                "\"forEach\" decides which objects are made, and so does the migration policy",
                "Leave one of the two out"
            )
        }
        if let grouping {
            return (
                "\"forEach\" makes several objects of a source object, and \"\(grouping.keyName)\" one of several",
                "Leave one of the two out"
            )
        }
        if usedSourceExpression != nil, sourceFetch == .other {
            return (
                "\"forEach\" goes through the objects of the source entity, and a source expression gives others",
                "Select them by a \"sourceFilter\""
            )
        }
        if sourceEntityName == nil || destinationEntityName == nil {
            return ("\"forEach\" needs a source and a destination entity", "Name both")
        }
        return nil
    }

    /// Returns the place of the expression in its file.
    package func forEachContext(_ path: String?) -> MigrationError.Context {
        context(forEachPlace, path, entity: sourceEntityName)
    }
}
