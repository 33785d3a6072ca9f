import Diagnostics
import Foundation
import Mapping

/// The functions that value expressions call on `$manager`: Core Data's own selectors, and those that a subclass
/// registers.
extension MigrationManager: ExpressionFunctions {
    /// Core Data's selectors of the manager.
    enum OwnSelector: String, CaseIterable {
        case destinationInstances = "destinationInstancesForEntityMappingNamed:sourceInstances:"
        case destinationInstancesOlder = "destinationInstancesForEntityMappingName:sourceInstances:"
        case destinationInstancesByRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
        case sourceInstances = "sourceInstancesForEntityMappingNamed:destinationInstances:"
        case sourceInstancesOlder = "sourceInstancesForEntityMappingName:destinationInstances:"
        case objectsBySource = "objectsOfEntityMapping:source:"
        case objectsByMember = "objectsOfEntityMapping:member:"
        case objectsBySourceAndMember = "objectsOfEntityMapping:source:member:"
        case fetchRequest = "fetchRequestForSourceEntityNamed:predicateString:"
        case fetchRequestWithSubentities = "fetchRequestForSourceEntityNamed:predicateString:includesSubentities:"
        case valueForKey = "valueForKey:"
        case valueForKeyPath = "valueForKeyPath:"
        case sourceContext, destinationContext, sourceModel, destinationModel, mappingModel, currentEntityMapping
        case userInfo, migrationProgress, usesStoreSpecificMigrationManager
    }

    /// The selectors that a value expression may call on `$manager`.
    var knownSelectors: [String] { Array(registeredFunctions.bySelector.keys) + OwnSelector.allCases.map(\.rawValue) }

    /// Tells whether a value expression may call a selector on `$manager`.
    package func knows(selector: String) -> Bool {
        registeredFunctions.bySelector[selector] != nil || OwnSelector(rawValue: selector) != nil
    }

    /// Calls a registered function or one of Core Data's own.
    ///
    /// A lookup gives its result in the form of its argument: nil or an empty collection for nil or an empty
    /// collection; the object that it became for one object; an ordered set or array in the same order for an ordered
    /// set or array; a set for a set.
    ///
    /// - Throws: `policy.unknownSelector`, `policy.argumentCount` (78), `policy.argument` (65); a method's own error,
    ///   unchanged.
    package func call(selector: String, arguments: [Any?]) throws -> Any? {
        if registeredFunctions.bySelector[selector] != nil {
            return try registeredFunctions.call(selector, arguments, of: self)
        }
        guard let own = OwnSelector(rawValue: selector) else {
            throw RegisteredFunctions.unknown(selector, of: self, known: knownSelectors)
        }
        let colons = selector.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: ":") ? 1 : 0) }
        guard colons == arguments.count else {
            throw MigrationError(
                "policy.argumentCount", .configuration,
                "The function \(selector) takes \(colons.counted("argument")), not \(arguments.count)")
        }
        var values = ArgumentConversion(selector: selector, owner: self, arguments: arguments)
        switch own {
        case .destinationInstances, .destinationInstancesOlder:
            let name = try values.next(String.self)
            return try lookup(try values.next(Any?.self), selector) {
                destinationInstances(forEntityMappingName: name, sourceInstances: $0)
            }
        case .destinationInstancesByRelationship:
            let name = try values.next(String.self)
            return try lookup(try values.next(Any?.self), selector) {
                destinationInstances(forSourceRelationshipNamed: name, sourceInstances: $0)
            }
        case .sourceInstances, .sourceInstancesOlder:
            let name = try values.next(String.self)
            return try lookup(try values.next(Any?.self), selector) {
                sourceInstances(forEntityMappingName: name, destinationInstances: $0)
            }
        case .objectsBySource:
            return try runtime().pairs.objects(
                ofMapping: try values.next(String.self), source: try values.next(ManagedObject?.self))
        case .objectsByMember:
            return try runtime().pairs.objects(
                ofMapping: try values.next(String.self), member: try values.next(ManagedObject?.self))
        case .objectsBySourceAndMember:
            return try runtime().pairs.objects(
                ofMapping: try values.next(String.self), source: try values.next(ManagedObject?.self),
                member: try values.next(ManagedObject?.self))
        case .fetchRequest:
            return try fetchRequest(try values.next(String.self), try values.next(String?.self), false)
        case .fetchRequestWithSubentities:
            return try fetchRequest(
                try values.next(String.self), try values.next(String?.self), try values.next(Bool.self))
        case .valueForKey: return try property(try values.next(String.self))
        case .valueForKeyPath:
            let names = try values.next(String.self).split(separator: ".").map(String.init)
            let first = try property(names.first ?? "")
            guard names.count > 1 else { return first }
            guard let dictionary = first as? [AnyHashable: Any] else { return nil }
            return dictionary[names.dropFirst().joined(separator: ".")]
        default: return try property(own.rawValue)
        }
    }

    /// Returns a request for the objects of a source entity.
    private func fetchRequest(
        _ entity: String, _ predicate: String?, _ includesSubentities: Bool
    ) throws -> FetchRequest<ManagedObject> {
        let request = FetchRequest<ManagedObject>(entityName: entity)
        if let predicate { request.predicate = try FormatPredicate(parsing: predicate) }
        request.includesSubentities = includesSubentities
        return request
    }

    /// Returns a property of the manager by its key.
    private func property(_ key: String) throws -> Any? {
        switch key {
        case "sourceContext": sourceContext
        case "destinationContext": destinationContext
        case "sourceModel": sourceModel
        case "destinationModel": destinationModel
        case "mappingModel": mappingModel
        case "currentEntityMapping": currentEntityMapping
        case "userInfo": userInfo
        case "migrationProgress": NSNumber(value: migrationProgress)
        case "usesStoreSpecificMigrationManager": NSNumber(value: usesStoreSpecificMigrationManager)
        default:
            throw MigrationError(
                "policy.unknownKey", .configuration, "The migration manager has no property \(key)",
                remedy: "Put it into userInfo, or register a function")
        }
    }

    /// Looks up the objects in an argument, and returns the result in the argument's form.
    private func lookup(
        _ argument: Any?, _ selector: String, _ find: ([ManagedObject]) -> [ManagedObject]
    ) throws -> Any? {
        guard let argument = ValueBridge.unwrapped(argument) else { return nil }
        if let object = argument as? ManagedObject {
            let found = find([object])
            return found.count > 1 ? found : found.first
        }
        guard let members = ParameterValue.members(argument), var objects = members as? [ManagedObject] else {
            throw MigrationError(
                "policy.argument", .data,
                "Argument 2 of \(selector) is a value of type \(type(of: argument)), not objects")
        }
        // A set has no order of its own, and the order in which it gives its objects may vary: sort them by key.
        if argument is NSSet { objects.sort { $0.objectID.key < $1.objectID.key } }
        let found = objects.isEmpty ? [] : find(objects)
        return switch argument {
        case is NSOrderedSet: NSOrderedSet(array: found)
        case is NSSet: NSSet(array: found)
        default: found
        }
    }

    /// Returns the destination objects that any mapping made from the given source objects, in mapping order, then in
    /// order of association. It performs `destinationInstancesForSourceRelationshipNamed:sourceInstances:`.
    ///
    /// - Parameters:
    ///   - name: a relationship that leads to the source objects. It does not restrict the result: every entity mapping
    ///     is searched.
    ///   - sourceInstances: objects of the source; nil: none.
    public func destinationInstances(
        forSourceRelationshipNamed name: String, sourceInstances: [ManagedObject]?
    ) -> [ManagedObject] {
        guard let sourceInstances, let mappings = mappingModel.entityMappings else { return [] }
        var found: [ManagedObject] = []
        var seen: Set<ManagedObject> = []
        for mapping in mappings where mapping.sourceEntityName != nil {
            for object in destinationInstances(forEntityMappingName: mapping.name, sourceInstances: sourceInstances)
            where seen.insert(object).inserted {
                found.append(object)
            }
        }
        return found
    }

    /// The functions that ``registerFunctions(_:)`` adds; it is called once.
    var registeredFunctions: RegisteredFunctions {
        if let functions { return functions }
        let table = ExpressionFunctionTable()
        registerFunctions(table)
        let found = RegisteredFunctions(bySelector: table.functions, problem: table.problem)
        functions = found
        return found
    }
}
