import Foundation
import ManagedModel
import Mapping

/// A destination object that a lookup finds for a source object. It has no values here.
final class FoundObject: NSObject {
    let mapping: PlannedMapping
    let source: EvaluatedSource
    /// `Entity/p<key>`, or words if only a full pass tells the key.
    let name: String

    init(_ mapping: PlannedMapping, of source: EvaluatedSource, in plan: ExplainedPlan) {
        self.mapping = mapping
        self.source = source
        let entity = mapping.destination?.definition.name ?? "?"
        name = plan.keepsKeys(mapping) ? "\(entity)/p\(source.key)" : "the \(entity) of \(source.objectName)"
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? FoundObject else { return false }
        return other.mapping === mapping && other.source == source
    }
    override var hash: Int { source.hash ^ mapping.index }
}

/// The `$manager` of explained expressions. It answers lookups for the objects that are asked for, without association tables,
/// and notes each answer.
final class ExplainedLookups: NSObject, ExpressionFunctions {
    /// The greatest number of source objects for which one lookup is answered.
    static let most = 1000

    let plan: ExplainedPlan
    /// The entity mapping whose expressions are evaluated.
    private let current: PlannedMapping
    /// The first answers since the last ``begin()``, and the number of all.
    private(set) var noted: [ObjectExplanation.Lookup] = []
    private(set) var count = 0
    /// `$member` of an entity mapping with `forEach`: the first one, whose `$index` is 0; nil if there is none.
    var member: Any??
    /// True if a lookup had more source objects than are answered.
    private(set) var isCut = false

    init(_ plan: ExplainedPlan, _ mapping: PlannedMapping) {
        self.plan = plan
        current = mapping
    }

    /// Forgets the answers.
    func begin() { (noted, count, isCut) = ([], 0, false) }

    /// The variables of a mapping's expressions. Those that only a run has are missing.
    ///
    /// - Parameter filled: the object with the values that it takes from others.
    func variables(
        _ object: EvaluatedSource, _ property: PropertyMapping? = nil, _ filled: FilledSource? = nil
    ) -> [String: Any?] {
        var variables: [String: Any?] = [
            "source": filled ?? object, "manager": self, "entityMapping": current.mapping, "propertyMapping": property,
        ]
        if let member {
            variables[EntityMapping.memberVariable] = .some(member)
            variables[EntityMapping.indexVariable] = NSNumber(value: 0)
        }
        return variables
    }

    // All selectors are known: the answer to others is the reason why there is none.
    func knows(selector: String) -> Bool { true }

    func call(selector: String, arguments: [Any?]) throws -> Any? {
        let byName = [LookupSelector.byEntityMapping, LookupSelector.byEntityMappingName].contains(selector)
        guard byName || selector == LookupSelector.bySourceRelationship, arguments.count == 2,
            let name = arguments[0] as? String
        else { throw VerificationObstacle("it calls \(selector), which only a run answers") }
        let candidates = byName ? plan.named(name, beside: current) : plan.answering(beside: current)
        var sources = ValueBridge.items(of: arguments[1]).compactMap {
            $0 as? EvaluatedSource ?? ($0 as? FilledSource)?.first
        }
        if arguments[1] is NSSet { sources.sort { $0.key < $1.key } }
        if sources.count > Self.most { isCut = true }
        let found = NSMutableOrderedSet()
        for object in sources.prefix(Self.most) {
            let reading = candidates.filter { $0.reads(object.entity) }
            if reading.isEmpty { note(object, nil, nil, "no entity mapping that is asked reads \(object.entity)") }
            for candidate in reading {
                if let problem = try problem(of: candidate, object) {
                    note(object, candidate, nil, problem)
                } else {
                    let result = FoundObject(candidate, of: object, in: plan)
                    note(object, candidate, result.name, nil)
                    found.add(result)
                }
            }
        }
        return found.array
    }

    /// Returns the reason why a mapping makes no destination object of a source object; nil if it makes one.
    private func problem(of mapping: PlannedMapping, _ object: EvaluatedSource) throws -> String? {
        if let forEach = mapping.forEach { return "it makes an object for each member of \(forEach.format)" }
        if mapping.mayBeAssociatedByHand { return "code of its policy decides" }
        if mapping.matching != nil { return "it may become a row that the destination had before" }
        if mapping.grouping != nil { return "it may share the object of another one" }
        guard mapping.destination != nil else { return "it removes its source objects" }
        guard try mapping.filter?.filterTruth(of: object, variables: variables(object)) ?? true else {
            return "its source filter leaves the object out"
        }
        return nil
    }

    /// Notes that an object that was found is rejected.
    func note(rejected found: FoundObject, _ problem: String) {
        let place = noted.firstIndex {
            $0.source == found.source.objectName && $0.mapping == found.mapping.name && $0.destination != nil
        }
        guard let place else { return }
        noted[place] = .init(
            source: found.source.objectName, mapping: found.mapping.name, destination: nil, problem: problem)
    }

    private func note(
        _ object: EvaluatedSource, _ mapping: PlannedMapping?, _ destination: String?, _ problem: String?
    ) {
        count += 1
        guard noted.count < ObjectReader.members else { return }
        noted.append(
            .init(
                source: object.objectName, mapping: mapping?.name, destination: destination, problem: problem))
    }
}
