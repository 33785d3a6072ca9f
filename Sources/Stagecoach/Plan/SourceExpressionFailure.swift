import Diagnostics

/// The errors of expressions that should give the source objects of an entity mapping.
enum SourceExpressionFailure {
    static func noObjects(_ reason: String) -> MigrationError {
        MigrationError(
            "mapping.sourceExpression", .configuration, "The source expression gives no source objects: \(reason)",
            remedy: "Give a FETCH of source objects, a collection of them, or a source filter instead")
    }

    static func tooMany(_ count: Int, most: Int) -> MigrationError {
        MigrationError(
            "mapping.sourceExpression", .configuration,
            "A FETCH in the source expression gives \(count.counted("object")) at once, and the memory limit holds \(most.grouped)",
            remedy: "Write the FETCH by itself or under TERNARY, SUBQUERY, UNION, INTERSECT or MINUS, "
                + "where its objects are taken one by one; or give a greater --memory-limit")
    }
}
