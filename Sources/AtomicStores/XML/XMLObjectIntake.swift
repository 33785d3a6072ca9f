import Diagnostics
import Foundation
import ManagedModel

/// Brings the words of an XML store to those of its model, and passes its objects on.
final class XMLObjectIntake: XMLObjectHandler {
    private let intake: ObjectIntake
    private let model: AtomicModel
    private var entity: AtomicModel.Entity { intake.current }
    /// A sentence for each attribute whose type's word in the file is not that of the model.
    private(set) var notes: [String] = []
    private var noted: Set<String> = []

    init(_ intake: ObjectIntake) {
        self.intake = intake
        model = intake.model
    }

    func begin(type: String, id: Int64) throws(MigrationError) {
        guard let entity = model.entity(named: type.uppercased()) else {
            throw MigrationError(
                "store.unknownEntity", .data,
                "The store has an object z\(id) of type \(type), and the model has no entity of that name",
                remedy: "Name the model version that wrote the store")
        }
        try intake.begin(entity: entity, id: id)
    }

    func attribute(_ name: String, word: String, text: UnsafeRawBufferPointer) throws(MigrationError) {
        guard let attribute = entity.attributes[name] ?? entity.attributes[name.lowercased()] else {
            throw intake.failure(
                "store.unknownProperty", "An object has an attribute that its entity has not", property: name)
        }
        let expected = XMLValue.word(of: attribute.type)
        guard let expected else {
            throw AtomicStoreError.unprovenType(
                attribute.name, attribute.type.label, entity.entity.definition.name, .xml)
        }
        if expected != word { note(attribute, word, expected) }
        let isRead: Bool
        switch attribute.type {
        case .string: isRead = try set(attribute, .text(text), isValid: XMLValue.isUTF8(text))
        case .binaryData:
            let blob = XMLValue.decodeBase64(text)
            isRead = blob != nil
            if let blob {
                let result = blob.withUnsafeBytes { bytes in
                    Result { () throws(MigrationError) in try intake.set(attribute, .blob(bytes)) }
                }
                try result.get()
            }
        default:
            let value = XMLValue.number(text, attribute.type)
            isRead = value != nil
            if let value { try intake.set(attribute, value) }
        }
        guard isRead else {
            let shown = String(decoding: text.prefix(40), as: UTF8.self)
            throw intake.failure(
                "store.value", "A value of type \(attribute.type.label) is '\(shown)'", property: attribute.name)
        }
    }

    private func set(
        _ attribute: AtomicModel.Attribute, _ value: ObjectIntake.Value, isValid: Bool
    ) throws(MigrationError) -> Bool {
        if isValid { try intake.set(attribute, value) }
        return isValid
    }

    private func note(_ attribute: AtomicModel.Attribute, _ word: String, _ expected: String) {
        let name = "\(entity.entity.definition.name).\(attribute.name)"
        guard noted.count < 100, noted.insert(name).inserted else { return }
        notes.append(
            "The file calls \(name) '\(word)', the model makes it '\(expected)': its values are read as the model says")
    }

    func relationship(_ name: String, counts: String, destination: String) throws(MigrationError) {
        guard let relationship = entity.relationships[name] ?? entity.relationships[name.lowercased()] else {
            throw intake.failure(
                "store.unknownProperty", "An object has a relationship that its entity has not", property: name)
        }
        try intake.begin(relationship)
    }

    func target(_ id: Int64) throws(MigrationError) { try intake.target(id) }

    func end() throws(MigrationError) { try intake.end() }
}
