import Diagnostics
import ManagedModel

extension XcodeMapping {
    /// Returns the mapping model, with the defaults that Xcode's compiler fills in (SampleModel's V2toV3 in both forms shows
    /// them):
    ///
    /// - the type: custom with a policy, add without a source, remove without a destination, copy if the entity keeps its name,
    ///   transform if it is renamed (`PersonToPerson` is compiled as a copy although Person changed);
    /// - expressions, as in ``AutomaticMapping``; a relationship with a given key path and entity mapping looks up that path's
    ///   objects.
    ///
    /// Properties that the file does not list are not touched.
    ///
    /// - Parameter previous: the entity mappings of mapping models that run before.
    /// - Throws: `mapping.unknownEntity`, `mapping.unknownProperty`, `mapping.propertyKind`, `mapping.duplicateProperty`, and
    ///   the errors of ``MappingModel/validate(source:destination:)`` (78).
    /// - Complexity: O(n log n) in properties.
    func mappingModel(
        source: ManagedObjectModel, destination: ManagedObjectModel, after previous: [EntityMapping] = [],
        misfits: MisfittingExpressions = .refused
    ) throws(MigrationError) -> MappingModel {
        let model = openMappingModel()
        try model.complete(source: source, destination: destination, after: previous, misfits: misfits)
        return model
    }

    /// Returns the mapping model of the file without its models. Parts that the models determine are left open.
    func openMappingModel() -> MappingModel {
        let model = MappingModel()
        model.path = path
        model.entityMappings = entities.map { entity in
            let mapping = entity.copied()
            mapping.replaceSourceFetchByFilter()
            mapping.convertedFrom = .xcode
            return mapping
        }
        return model
    }
}

extension MappingModel {
    /// Reads an `xcmapping.xml` literally, without its models.
    ///
    /// - Throws: `mapping.xml` and the like (78), with path, line and column.
    /// - Complexity: O(file).
    package static func reading(xcode bytes: [UInt8], path: String) throws(MigrationError) -> MappingModel {
        try XcodeMapping(bytes, path: path).openMappingModel()
    }
}

extension EntityMapping {
    /// Replaces the compiler's usual source expression, a fetch of the source entity, by its filter, as in the other forms of
    /// mapping models.
    func replaceSourceFetchByFilter() {
        switch sourceFetch {
        case .all:
            sourceExpression = nil
            sourceFilter = nil
        case .filtered(let text):
            // The text was printed from a tree, so it parses.
            guard let filter = try? SourcePredicate(format: text) else { return }
            sourceExpression = nil
            sourceFilter = filter
        case .other: return
        }
    }

    /// Removes a source expression that can give no objects of the source entity. Xcode keeps an expression that was written
    /// once, and fills in a fetch of the source entity all the same.
    func dropStraySourceExpression(_ model: ManagedObjectModel) {
        guard let expression = usedSourceExpression else { return }
        let origin = sourceEntityName.flatMap { model.entity(named: $0) }
        var check = ExpressionCheck(
            source: origin, destination: nil, sourceModel: model, names: nil, made: [:],
            variables: ExpressionCheck.sourceExpressionVariables, makers: [], isLenient: false)
        let fetched = expression.fetchedEntityNames
        let isRight = fetched.allSatisfy { name in
            guard let origin, let entity = model.entity(named: name) else { return false }
            return entity.isKin(of: origin)
        }
        if isRight, expression.mayGiveObjects, (try? check.kind(of: expression.node))?.mayGiveObjects == true { return }
        sourceExpression = nil
    }

    /// - Throws: `mapping.unknownEntity` (78).
    func checkEntities(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ path: String?,
        remedy: String? = "Check that the models are the versions that the mapping model is for"
    ) throws(MigrationError) {
        for (entity, model, side) in [
            (sourceEntityName, source, "source"), (destinationEntityName, destination, "destination"),
        ] {
            guard let entity, model.entity(named: entity) == nil else { continue }
            throw MigrationError(
                "mapping.unknownEntity", .configuration, "The \(side) model has no entity \(entity)",
                remedy: remedy, context: context(place, path, entity: entity))
        }
    }
}
