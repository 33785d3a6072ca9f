import struct Foundation.Data

extension AttributeDescription {
    /// The attribute's type, under the name of newer Core Data versions.
    public var type: AttributeType { attributeType }
}

extension EntityDescription {
    /// The version hash, 32 bytes; empty if only Core Data can compute it.
    public var versionHash: Data {
        name.flatMap { managedObjectModel.entityVersionHashesByName[$0] } ?? Data()
    }
}
