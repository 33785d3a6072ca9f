import Diagnostics
import ManagedModel

/// A value of an attribute in the archive of a binary store.
struct BinaryValue {
    let nodes: ArchivedNodes
    let limit: Int

    /// Tells whether real files show how the values of a type are written.
    static func isProved(_ type: AttributeType) -> Bool {
        [.integer16, .integer32, .integer64, .boolean, .string, .date, .binaryData].contains(type)
    }

    /// Passes the value on.
    ///
    /// - Throws: `store.unprovenType` (78), `store.value` (65).
    func set(
        _ attribute: AtomicModel.Attribute, _ node: ArchivedNodes.Node, _ intake: ObjectIntake
    ) throws(MigrationError) {
        switch attribute.type {
        case .integer16: try setInteger(attribute, node, intake, Int64(Int16.min)...Int64(Int16.max))
        case .integer32: try setInteger(attribute, node, intake, Int64(Int32.min)...Int64(Int32.max))
        case .integer64: try setInteger(attribute, node, intake, Int64.min...Int64.max)
        case .boolean: try setInteger(attribute, node, intake, 0...1)
        case .float, .double:
            switch node {
            case .plain(.real(let value)): try intake.set(attribute, .real(value))
            case .plain(.integer(let value)): try intake.set(attribute, .real(Double(value)))
            default: throw misfit(attribute, intake)
            }
        case .date:
            guard let seconds = try nodes.date(node), seconds.isFinite else { throw misfit(attribute, intake) }
            try intake.set(attribute, .real(seconds))
        case .string:
            guard var text = try nodes.text(node, limit: limit) else { throw misfit(attribute, intake) }
            let result = text.withUTF8 { bytes in
                Result { () throws(MigrationError) in try intake.set(attribute, .text(UnsafeRawBufferPointer(bytes))) }
            }
            try result.get()
        case .binaryData:
            guard let bytes = try nodes.data(node, limit: limit) else { throw misfit(attribute, intake) }
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(MigrationError) in try intake.set(attribute, .blob(bytes)) }
            }
            try result.get()
        case .undefined, .decimal, .uuid, .uri, .transformable, .objectID, .composite:
            throw AtomicStoreError.unprovenType(
                attribute.name, attribute.type.label, intake.current.entity.definition.name, .binary)
        }
    }

    private func setInteger(
        _ attribute: AtomicModel.Attribute, _ node: ArchivedNodes.Node, _ intake: ObjectIntake,
        _ range: ClosedRange<Int64>
    ) throws(MigrationError) {
        var value: Int64?
        if case .plain(.integer(let integer)) = node { value = integer }
        if case .plain(.boolean(let flag)) = node { value = flag ? 1 : 0 }
        guard let value, range.contains(value) else { throw misfit(attribute, intake) }
        try intake.set(attribute, .integer(value))
    }

    private func misfit(_ attribute: AtomicModel.Attribute, _ intake: ObjectIntake) -> MigrationError {
        intake.failure(
            "store.value", "A value is not of type \(attribute.type.label), as the model says",
            property: attribute.name, remedy: "Name the model version that wrote the store")
    }
}
