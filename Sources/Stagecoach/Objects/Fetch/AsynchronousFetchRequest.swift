import Foundation

/// A fetch that tells a closure its results. It is done when ``ManagedObjectContext/execute(_:)`` returns.
public final class AsynchronousFetchRequest<ResultType>: PersistentStoreRequest {
    /// The request for the objects.
    public let fetchRequest: FetchRequest<ResultType>
    /// Called with the results.
    public let completionBlock: ((AsynchronousFetchResult<ResultType>) -> Void)?
    /// Has no effect.
    public var estimatedResultCount = 0

    /// Creates a fetch of a request, with a closure that gets the results.
    public init(
        fetchRequest request: FetchRequest<ResultType>,
        completionBlock block: ((AsynchronousFetchResult<ResultType>) -> Void)? = nil
    ) {
        fetchRequest = request
        completionBlock = block
    }

    override func run(in context: ManagedObjectContext) throws -> PersistentStoreResult {
        let result = AsynchronousFetchResult(fetchRequest, try context.fetch(fetchRequest))
        completionBlock?(result)
        return result
    }
}

/// The results of a fetch request that a context has executed.
public final class AsynchronousFetchResult<ResultType>: PersistentStoreResult {
    /// The request.
    public let fetchRequest: FetchRequest<ResultType>
    /// The results, as ``ManagedObjectContext/fetch(_:)`` gives them.
    public let finalResult: [ResultType]?

    init(_ request: FetchRequest<ResultType>, _ results: [ResultType]) {
        fetchRequest = request
        finalResult = results
    }
}
