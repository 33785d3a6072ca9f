import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// A validation predicate of an attribute, evaluated for its values.
struct ValuePredicate {
    /// The predicate's format.
    let text: String
    private let predicate: SourcePredicate

    /// The predicates of an attribute that can be evaluated.
    static func all(of attribute: AttributeDefinition) -> [ValuePredicate] {
        attribute.validationPredicates.compactMap { made($0, of: attribute).predicate }
    }

    /// The predicates of a model that cannot be evaluated: a sentence each, without a full stop.
    static func unevaluated(in model: ManagedObjectModel) -> [String] {
        var sentences: [String] = []
        for entity in model.entities {
            // A composite is replaced by its elements, and has predicates of its own as well.
            let composites = entity.definition.attributes.filter { $0.type == .composite }
            for attribute in entity.ownAttributes.map(\.definition) + composites {
                guard !attribute.isTransient, attribute.derivationExpression == nil else { continue }
                for predicate in attribute.validationPredicates {
                    guard let obstacle = made(predicate, of: attribute).obstacle else { continue }
                    sentences.append(
                        "The validation predicate of \(entity.definition.name).\(attribute.name) cannot be evaluated and "
                            + "is not checked, because \(obstacle): \(predicate)")
                }
            }
        }
        return sentences
    }

    /// Returns a predicate, or the reason why it cannot be evaluated.
    private static func made(
        _ predicate: ValidationPredicate, of attribute: AttributeDefinition
    ) -> (predicate: ValuePredicate?, obstacle: String?) {
        guard let text = predicate.format else { return (nil, "it has no text form") }
        let parsed: SourcePredicate
        do throws(MigrationError) { parsed = try SourcePredicate(format: text) } catch {
            return (nil, "it is no predicate (\(error.message))")
        }
        guard let sample = sample(attribute) else {
            let isData = attribute.type == .binaryData
            return (nil, isData ? "values may be in files of their own" : "its values are objects of the app")
        }
        do { _ = try parsed.evaluate(with: sample) } catch {
            return (nil, (error as? MigrationError)?.message ?? "\(error)")
        }
        return (ValuePredicate(text: text, predicate: parsed), nil)
    }

    /// Returns a value of the attribute's type, to try a predicate on; nil if expressions cannot read such values.
    private static func sample(_ attribute: AttributeDefinition) -> Any? {
        switch attribute.type {
        case .integer16, .integer32, .integer64, .double, .float: NSNumber(value: 1)
        case .boolean: NSNumber(value: true)
        case .decimal: NSDecimalNumber(value: 1)
        case .string: ""
        case .date: Date(timeIntervalSinceReferenceDate: 0)
        case .binaryData: attribute.allowsExternalBinaryDataStorage ? nil : Data()
        case .uuid: UUID()
        case .uri: URL(string: "a:b")
        case .undefined, .transformable, .objectID, .composite: nil
        }
    }

    /// Tells whether a value breaks the predicate. A value for which it cannot be evaluated does; nil does not, as in Core
    /// Data.
    func isBroken(by value: Any?) -> Bool {
        guard let value else { return false }
        return ((try? predicate.evaluate(with: value)) ?? false) == false
    }
}
