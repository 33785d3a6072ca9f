import struct Foundation.Data

extension AttributeDescription {
    /// The attribute's type, under the name that newer sources use.
    public var type: AttributeType { attributeType }
}

extension EntityDescription {
    /// The version hash, 32 bytes; empty where it is known to Core Data only.
    public var versionHash: Data {
        name.flatMap { managedObjectModel.entityVersionHashesByName[$0] } ?? Data()
    }
}
