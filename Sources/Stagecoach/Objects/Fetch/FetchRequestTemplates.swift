import Foundation
import ManagedModel
import Mapping

// The fetch requests that a model names.
extension ManagedObjectModel {
    /// The model's fetch requests by name.
    public var fetchRequestTemplatesByName: [String: FetchRequest<NSObject>] {
        Dictionary(
            definition.fetchRequests.map { ($0.name, request($0)) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the model's fetch request with a name; nil if there is none. Its predicate may have variables.
    public func fetchRequestTemplate(forName name: String) -> FetchRequest<NSObject>? {
        definition.fetchRequests.first { $0.name == name }.map(request)
    }

    /// Returns the model's fetch request with a name, with values for its predicate's variables; nil if there is none.
    public func fetchRequestFromTemplate(
        withName name: String, substitutionVariables variables: [String: Any]
    ) -> FetchRequest<NSObject>? {
        let request = fetchRequestTemplate(forName: name)
        request?.predicate = request?.predicate?.withSubstitutionVariables(variables)
        return request
    }

    private func request(_ template: FetchRequestDefinition) -> FetchRequest<NSObject> {
        let request = FetchRequest<NSObject>(entityName: template.entityName)
        if let entity = entity(named: template.entityName) { request.entity = entity }
        request.predicate = template.predicate.map { FormatPredicate(format: $0) }
        (request.fetchLimit, request.fetchBatchSize) = (template.fetchLimit, template.fetchBatchSize)
        request.resultType = FetchRequestResultType(rawValue: UInt(exactly: template.resultType) ?? 0)
        request.returnsDistinctResults = template.returnsDistinctResults
        return request
    }
}
