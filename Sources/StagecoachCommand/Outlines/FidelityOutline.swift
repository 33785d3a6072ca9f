import CoreDataStore

/// The encodable result of a comparison, with the path and the model compared.
struct FidelityOutline: Encodable {
    let path: String
    /// The argument, or the words for the store's own model.
    let model: String
    let fidelity: StoreFidelity

    func encode(to encoder: any Encoder) throws {
        try fidelity.encode(to: encoder)
        try ["kind": "fidelity", "path": path, "model": model].encode(to: encoder)
        try ["isEqual": fidelity.isEqual].encode(to: encoder)
    }
}
