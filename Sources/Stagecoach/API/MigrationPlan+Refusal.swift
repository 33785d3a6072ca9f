import Diagnostics

extension MigrationPlan {
    /// The error that would end a run with the same options because of the source's objects.
    public struct Refusal: Sendable, Codable, Equatable {
        /// The code of the error.
        public var code: String
        /// The problem, as a sentence without a full stop.
        public var message: String
        /// The remedy; nil if the message says it.
        public var remedy: String?
        /// The destination entity; nil if it is about none.
        public var entity: String?
        /// The property; nil if it is about none.
        public var property: String?
        /// The first destination object, `Entity/p<key>`; nil if it is not known.
        public var objectID: String?
        /// The entity mapping; nil if it is about none.
        public var entityMapping: String?

        init(_ error: MigrationError) {
            code = error.code.rawValue
            message = error.message
            remedy = error.remedy
            entity = error.context.entity
            property = error.context.property
            objectID = error.context.objectID
            entityMapping = error.context.entityMapping
        }

        /// The error itself.
        var error: MigrationError {
            MigrationError(
                .init(rawValue: code), .data, message, remedy: remedy,
                context: .init(
                    entity: entity, objectID: objectID, property: property, entityMapping: entityMapping))
        }
    }

    /// Refuses what a run with the options would certainly refuse because of the source's objects: losses, if they are refused,
    /// and the plan's ``refusal``.
    ///
    /// - Throws: `migration.loss`, `migration.empty`, `validation.missing` (65).
    public func checkObjects(_ options: MigrationOptions) throws(MigrationError) {
        try checkLosses(options)
        if let refusal { throw refusal.error }
    }
}
