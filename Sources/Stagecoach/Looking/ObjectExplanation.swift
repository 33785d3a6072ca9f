/// The explanation of what a migration makes of one source object, entity mapping by entity mapping.
public struct ObjectExplanation: Sendable, Encodable {
    /// The ways in which a migration ends for an object.
    public enum Outcome: String, Sendable, Encodable {
        /// A rule of the destination is broken, which ends the migration.
        case invalid
        /// A rule of the destination is broken, and the object is left out.
        case rejected
        /// It becomes a destination object.
        case migrated
        /// It shares the destination object that another source object makes, or is merged into it.
        case shared
        /// Other objects, code of a policy, or an expression that gives the source objects decide.
        case undecided
        /// The source filter leaves it out.
        case filtered
        /// The entity mapping has no destination.
        case removed
        /// No entity mapping reads its entity.
        case withoutMapping
    }

    /// A part of an expression with its value for the object.
    public struct Part: Sendable, Encodable {
        /// The text of the part.
        public let expression: String
        /// The number of parts around it, from 0.
        public let depth: Int
        /// Its value; nil if it cannot be computed here.
        public let value: ShownValue?
        /// The reason why it cannot; nil if it can.
        public let problem: String?
    }

    /// The source filter of an entity mapping.
    public struct Filter: Sendable, Encodable {
        /// The predicate.
        public let predicate: String
        /// The answer; nil if it is unknown, which counts as false, or if it cannot be computed here.
        public let answer: Bool?
        /// The parts of the predicate, in reading order.
        public let parts: [Part]
        /// The reason why there is no answer; nil if there is one.
        public let problem: String?
    }

    /// The source objects that share a destination object by `distinctBy` or `mergeBy`, the explained one among them.
    public struct Sharing: Sendable, Encodable {
        /// A value by which source objects are compared.
        public struct Value: Sendable, Encodable {
            /// The expression.
            public let expression: String
            /// Its value.
            public let value: ShownValue
        }

        /// A value that the kept source object lacks, and has from another one.
        public struct Filled: Sendable, Encodable {
            /// The property of the destination object.
            public let property: String
            /// The key path that is nil for the kept source object.
            public let keyPath: String
            /// The source object that has a value, `Entity/p<key>`.
            public let source: String
            /// Its key.
            let key: Int64

            private enum CodingKeys: String, CodingKey { case property, keyPath, source }
        }

        /// The rule: `distinctBy` or `mergeBy`.
        public let rule: String
        /// The rule by which one of the source objects is kept, as in a mapping file; nil for `distinctBy`, where it is the first.
        public let keep: String?
        /// The values that all of them have.
        public internal(set) var values: [Value] = []
        /// The number of source objects.
        public internal(set) var members = 0
        /// The source object that makes the destination object, `Entity/p<key>`; nil if none does, because the values are nil.
        public internal(set) var kept: String?
        /// The value for which it is kept; nil if its place among the others decides.
        public internal(set) var keptValue: ShownValue?
        /// The values that it takes from the others.
        public internal(set) var filled: [Filled] = []
        /// The key of ``kept``.
        var keptKey: Int64?

        init(rule: String, keep: String?) { (self.rule, self.keep) = (rule, keep) }

        private enum CodingKeys: String, CodingKey { case rule, keep, values, members, kept, keptValue, filled }
    }

    /// The policy of an entity mapping. It is not called.
    public struct Policy: Sendable, Encodable {
        /// The name of its class in the mapping model.
        public let name: String
        /// The methods that the class overrides, by name; nil if no library registers it.
        public let methods: [String]?
    }

    /// A source object that a lookup asks an entity mapping for.
    public struct Lookup: Sendable, Encodable {
        /// The source object, `Entity/p<key>`.
        public let source: String
        /// The name of the entity mapping that answers; nil if none reads the object's entity.
        public let mapping: String?
        /// The destination object; nil if there is none.
        public let destination: String?
        /// The reason why there is none; nil if there is one.
        public let problem: String?
    }

    /// A property of the destination object, with where its value comes from.
    public struct Property: Sendable, Encodable {
        /// The name of the attribute or relationship.
        public let name: String
        /// The value expression; nil if there is none.
        public let expression: String?
        /// The parts of the expression, in reading order.
        public internal(set) var parts: [Part] = []
        /// The value in the type of the destination's column, or the destination objects; nil if it is not known here.
        public internal(set) var value: ShownValue?
        /// The lookups that the expression makes, at most ``ObjectReader/members``.
        public internal(set) var lookups: [Lookup] = []
        /// The number of all lookups.
        public internal(set) var lookupCount = 0
        /// The reason why the value cannot be computed; nil if it can.
        public internal(set) var problem: String?
        /// Remarks, a sentence each without a full stop: where the value comes from, or what else decides it.
        public internal(set) var notes: [String] = []
    }

    /// A rule of the destination model that the destination object breaks.
    public struct BrokenRule: Sendable, Encodable {
        /// The property.
        public let property: String
        /// The rule.
        public let rule: ValidationRule
        /// The fault, a sentence without a full stop.
        public let message: String
        /// True if it only gives a warning, since the source model has the rule too.
        public let isWarning: Bool
    }

    /// A value or links of the object that no entity mapping carries over.
    public struct Unread: Sendable, Encodable {
        /// The attribute or relationship of the source.
        public let property: String
        /// The value, or the objects of the relationship.
        public let value: ShownValue
        /// The reason why it stays behind.
        public let reason: LeftBehind.Reason
        /// True if it is meant to stay behind.
        public let isMeant: Bool
        /// Ways to keep it, the best first.
        public let suggestions: [LeftBehind.Suggestion]
    }

    /// One entity mapping that reads the object's entity.
    public struct Mapping: Sendable, Encodable {
        /// The name.
        public let name: String
        /// The destination entity; nil if there is none.
        public let destinationEntity: String?
        /// The outcome for the object by this mapping.
        public internal(set) var outcome: Outcome
        /// The outcome without the rules that only a pass over all objects can decide (``stages``). If this one is
        /// ``Outcome/migrated`` and such a rule may still leave the object out, ``outcome`` is ``Outcome/undecided``.
        public internal(set) var outcomeByItself: Outcome
        /// The source filter; nil if there is none.
        public internal(set) var filter: Filter?
        /// The source objects that share the destination object; nil if each makes its own.
        public internal(set) var sharing: Sharing?
        /// The policy; nil if there is none.
        public internal(set) var policy: Policy?
        /// How many objects the members of the mapping's `forEach` make, and whose is shown, as a sentence without a full stop;
        /// nil if the mapping has none.
        public internal(set) var forEach: String?
        /// The destination object, `Entity/p<key>`; nil if there is none, or if only a full pass tells its key.
        public internal(set) var destination: String?
        /// The attributes of the destination object.
        public internal(set) var attributes: [Property] = []
        /// Its relationships.
        public internal(set) var relationships: [Property] = []
        /// The rules that it breaks, as far as they look at this object alone.
        public internal(set) var broken: [BrokenRule] = []
        /// The decisions that only a pass over whole tables makes, a sentence each without a full stop.
        public internal(set) var stages: [String] = []
    }

    /// The object, `Entity/p<key>` by its own entity.
    public let object: String
    /// The versions between which the explained migration leads.
    public let from: String
    /// The version that it leads to.
    public let to: String
    /// The outcome for the object. If its entity mappings have different outcomes, it is the one that comes first in ``Outcome``;
    /// without an entity mapping it is ``Outcome/withoutMapping``.
    public let outcome: Outcome
    /// The entity mappings that read the object's entity, in their order.
    public let mappings: [Mapping]
    /// The values and links that no entity mapping carries over, by name.
    public let unread: [Unread]
    /// Remarks about the whole, a sentence each without a full stop.
    public var notes: [String]
}
