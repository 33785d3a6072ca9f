import Diagnostics
import ManagedModel
import Mapping

/// Calls the methods of policies, and makes their failures the run's.
struct PolicyCaller {
    let modelRun: ModelRun
    let runtime: PolicyRuntime

    /// Calls a policy's method. An error that it throws keeps its identity as the cause. A recorded failure of a call
    /// that cannot throw, or a cancellation, ends the run as soon as the method returns.
    func call(
        _ mapping: PlannedMapping, _ method: PolicyMethod, object: ManagedObject? = nil,
        _ body: () throws -> Void
    ) throws {
        if object == nil { begin(mapping, method) }
        defer { if object == nil { runtime.userCode.end() } }
        do {
            if runtime.hasScope { try body() } else { try inScope(body) }
            try runtime.endUserCode()
        } catch {
            throw failure(error, mapping, method, object)
        }
        if let error = modelRun.services.cancellation.error { throw error }
    }

    /// Notes the policy's method that is called next, for a crash in it.
    func begin(_ mapping: PlannedMapping, _ method: PolicyMethod, _ entity: EntityDescription? = nil) {
        let name = mapping.mapping.entityMigrationPolicyClassName ?? "EntityMigrationPolicy"
        runtime.userCode.begin(name, "\(method.rawValue), stage \(method.stage)", in: mapping, entity: entity)
    }

    /// Returns the error that ends the run for an error of user code.
    func failure(
        _ error: any Error, _ mapping: PlannedMapping, _ method: PolicyMethod, _ object: ManagedObject?
    ) -> any Error {
        MigrationError.ofUserCode(error, in: context(mapping, method, object))
    }

    /// Runs a closure that calls user code, maybe once for each object; failures of calls that cannot throw are
    /// recorded.
    func inScope(_ body: () throws -> Void) throws {
        // The scope lives only for the call, on this thread.
        nonisolated(unsafe) let failures = runtime.failures
        var scope = EvaluationScope.current
        scope.record = { failures.record($0) }
        runtime.hasScope = true
        defer { runtime.hasScope = false }
        try EvaluationScope.$current.withValue(scope) { try body() }
    }

    private func context(
        _ mapping: PlannedMapping, _ method: PolicyMethod, _ object: ManagedObject?
    ) -> MigrationError.Context {
        var context = mapping.context
        context.objectID = object?.objectID.shortName
        if method == .createDestinationInstances { context.sourceObjectID = context.objectID }
        context.policy = "\(mapping.mapping.entityMigrationPolicyClassName ?? "").\(method.rawValue)"
        return context
    }
}

/// The methods of a policy, by their names in errors.
enum PolicyMethod: String {
    case begin, createDestinationInstances, endInstanceCreation, createRelationships, endRelationshipCreation
    case performCustomValidation, end

    var stage: StagePosition.Phase {
        switch self {
        case .begin, .createDestinationInstances, .endInstanceCreation: .create
        case .createRelationships, .endRelationshipCreation: .relate
        case .performCustomValidation, .end: .validate
        }
    }
}
