import PersistentStore

/// What a migration will do, and why: a value that can be printed, saved, reviewed and run.
///
/// ``Migration/plan()`` makes it; ``MigrationOptions/plan`` runs it. The run does what ``Model/passes`` and the keys of
/// ``Model/tables`` say, so both may be edited; everything else says what follows from models, mapping models and source,
/// and a plan in which it does not agree with them any more is refused.
public struct MigrationPlan: Sendable, Codable, Equatable {
    /// The form of a saved plan.
    public static let currentFormatVersion = 1

    /// The version of the JSON that a plan is saved as.
    public var formatVersion = MigrationPlan.currentFormatVersion
    /// What the plan was made for.
    public var inputs: Inputs
    /// One for each mapping model, in turn.
    public var models: [Model]
    /// What the run needs in memory.
    public var memory: Memory
    /// What the run needs on disk.
    public var disk: Disk
    /// What the source lacks and is read as empty or nil; nil where it lacks nothing.
    public var repairs: [Repair]?
    /// Data of the source that no entity mapping takes along; nil where there is none.
    public var leftBehind: LeftBehind?
    /// Names that are taken over from the source or chosen by a rule without evidence, and what the source's schema has beside
    /// the model: taken over or left behind, with the reason. A sentence each; nil where there is nothing to say.
    public var layout: [String]?

    /// The passes of all mapping models.
    public var passes: [Pass] { models.flatMap(\.passes) }
    /// Whether the stages of any mapping model are barriers over its entity mappings.
    public var isStaged: Bool { models.contains(where: \.isStaged) }

    /// The properties of all mapping models that could not be mapped and are left.
    public var unmapped: [Unmapped] { models.flatMap { $0.unmapped ?? [] } }
    /// Expressions that do not fit and that nothing evaluates, over all mapping models.
    var unevaluated: [String] { models.flatMap { $0.unevaluated ?? [] } }

    /// One mapping model's part.
    public struct Model: Sendable, Codable, Equatable {
        /// Whether the stages are barriers over all entity mappings, because user code may run.
        public var isStaged: Bool
        /// Why, one sentence each; empty where the stages are fused.
        public var reasons: [String]
        /// In mapping order.
        public var entityMappings: [EntityMapping]
        /// In the destination's order.
        public var tables: [Table]
        /// Every stored relationship of the destination model, where it is declared.
        public var relationships: [Relationship]
        /// Root entities that belong together, because they refer to each other in a circle or share links; in the order
        /// in which they are loaded.
        public var groups: [[String]]
        /// In order.
        public var passes: [Pass]
        /// From where a run goes on that was killed; nil in plans of older programs.
        public var resume: String?
        /// Properties that could not be mapped and are left without a value; nil where there are none.
        public var unmapped: [Unmapped]?
        /// Expressions that do not fit their properties, of entity mappings without source objects, and validation
        /// predicates of the model that cannot be evaluated. A sentence each; nil where there are none.
        public var unevaluated: [String]?
    }

    /// A property that could not be mapped and is left without a value.
    public struct Unmapped: Sendable, Codable, Equatable {
        /// The destination entity that declares it.
        public var entity: String
        /// The property's name.
        public var name: String
        /// `Entity.name` of the source property whose values stay behind; nil where it is not known.
        public var source: String?
        /// Source objects that have a value there; nil where they are not counted, before the source stands.
        public var values: Int?
        /// Why: a sentence without a full stop.
        public var reason: String

        /// All of it in a sentence without a full stop.
        public var sentence: String {
            let count = values.map { values in "\(values) object\(values == 1 ? " has" : "s have") a value there" }
            let left = source.map { source in
                "what \(source) has stays behind" + (count.map { ", and \($0)" } ?? "")
            }
            return (["\(entity).\(name) is left unmapped"] + [left].compactMap { $0 }).joined(separator: ", ")
                + ": \(reason)"
        }
    }

    /// A part that a damaged source lacks, and how it is read all the same: ``MigrationOptions/repairs``.
    public struct Repair: Sendable, Codable, Equatable {
        /// The table that is missing, or that lacks the column.
        public var table: String
        /// The column; nil where the whole table is missing.
        public var column: String?
        /// The source entity that suffers.
        public var entity: String
        /// Its attribute or relationship; nil where all of the entity does.
        public var property: String?
        /// Rows that are read without the column; of a missing table the highest key that it gave, which is how many rows it
        /// had at the most.
        public var rows: Int
        /// All of it in a sentence without a full stop.
        public var sentence: String
    }

    /// How an entity mapping's objects are made.
    public struct EntityMapping: Sendable, Codable, Equatable {
        /// The entity mapping's name.
        public var name: String
        /// The source entity; nil where it has none.
        public var sourceEntity: String?
        /// The destination entity; nil where it has none.
        public var destinationEntity: String?
        /// Whether its objects are rows, objects, or nothing.
        public var path: Path
        /// Why it takes that path.
        public var reason: String
        /// Source objects before the filter.
        public var sourceRows: Int
        /// Whether a filter may leave some out.
        public var isFiltered: Bool
        /// Why a run that is killed cannot be gone on with inside it, a sentence without a full stop; nil where it can.
        public var obstacle: String?
    }

    /// What an entity mapping's objects are on their way.
    public enum Path: String, Sendable, Codable {
        /// Rows, in batches; no object exists.
        case rows
        /// Objects, made for the policy or for expressions that only objects can evaluate.
        case objects
        /// No object is made.
        case none
    }

    /// One root entity's table and the entity mappings that fill it.
    public struct Table: Sendable, Codable, Equatable {
        /// The destination's root entity.
        public var rootEntity: String
        /// Names of the entity mappings into the root, in mapping order.
        public var entityMappings: [String]
        /// Which keys its rows get.
        public var keys: KeyMode
        /// Why the keys are not kept; nil where they are.
        public var reason: String?
        /// Source rows that the mappings read.
        public var sourceRows: Int
    }

    /// How the links of a destination relationship come about.
    public struct Relationship: Sendable, Codable, Equatable {
        /// The entity that declares it.
        public var entity: String
        /// The relationship's name.
        public var name: String
        /// The entity of the other objects.
        public var destinationEntity: String
        /// The root entities of both: their tables.
        public var rootEntity: String
        /// The root entity of the other objects, whose table they are in.
        public var destinationRootEntity: String
        /// `Entity.name` of the inverse.
        public var inverse: String?
        /// Whether there may be more than one other object.
        public var isToMany: Bool
        /// `Entity.name` of the side whose column holds the links, or the join table's name.
        public var carrier: String?
        /// How its links come about.
        public var resolution: Resolution
        /// Pass, from 1, in which its links are resolved; nil where there are none.
        public var pass: Int?
        /// Whether the links wait, on disk, for a later pass than the first that knows one of the sides.
        public var isDeferred: Bool
    }

    /// When a relationship's links are known.
    public enum Resolution: String, Sendable, Codable {
        /// No entity mapping sets it.
        case untouched
        /// Looked up row by row, as the rows that hold it are read.
        case row
        /// Resolved over the whole table before its rows are loaded, and merged into them by key.
        case table
        /// Sorted into the join table, once both sides are closed.
        case join
        /// The inverse, which carries the links, completes it.
        case inverse
        /// Logged by the stages, those of policies after those of the mapping model, and merged at the load.
        case logged
    }

    /// A part of the load.
    public struct Pass: Sendable, Codable, Equatable {
        /// What is loaded, in order.
        public var steps: [Step]
        /// Join tables loaded at the pass's end, when both sides are closed.
        public var joinTables: [String]
        /// Relationships, as `Entity.name`, whose links are resolved in the pass over whole tables.
        public var resolves: [String]
        /// Bytes of the pass's rows in the destination, about.
        public var destinationBytes: Int
        /// Bytes in the work directory for the pass, about.
        public var workBytes: Int
        /// Bytes of memory that the pass's batches, caches, keys and sorts take at the most, beyond what the process holds.
        public var memoryBytes: Int
    }

    /// Rows of one root entity that are loaded at a time.
    public struct Step: Sendable, Codable, Equatable {
        /// The destination's root entity, whose table is loaded.
        public var rootEntity: String
        /// Names of the entity mappings whose rows are loaded.
        public var entityMappings: [String]
        /// Only source rows with a greater Z_PK; nil: from the first.
        public var afterKey: Int64?
        /// Only source rows up to this Z_PK; nil: to the last.
        public var throughKey: Int64?
        /// Source rows, about.
        public var sourceRows: Int
        /// Whether the table closes: its rules are checked, its indexes built.
        public var closes: Bool
    }

    /// Memory, in bytes.
    public struct Memory: Sendable, Codable, Equatable {
        /// The limit that the plan was made for.
        public var limit: Int
        /// What the engine's parts need at least, beyond what the process holds before it begins.
        public var least: Int
    }

    /// Disk, in bytes, about.
    public struct Disk: Sendable, Codable, Equatable {
        /// The destination's file.
        public var destination: Int
        /// The work directory: spills, association tables, sorts, copies.
        public var work: Int
        /// What the run needs in any case: below it, it is refused before anything is written.
        public var least: Int
    }
}

extension MigrationPlan.Model {
    /// Says of an expression that does not fit that nothing evaluates it.
    static func unevaluated(_ misfit: (mapping: Mapping.EntityMapping, property: String, reason: String)) -> String {
        "\(misfit.mapping.name ?? "").\(misfit.property) does not fit, and \(misfit.mapping.sourceEntityName ?? "") has no "
            + "objects that need it: \(misfit.reason)"
    }
}

extension MigrationPlan.Repair {
    /// What a source's places say; nil where it lacks nothing.
    static func list(_ layout: StoreLayout) -> [MigrationPlan.Repair]? {
        guard !layout.damages.isEmpty else { return nil }
        return layout.damages.map { damage in
            MigrationPlan.Repair(
                table: damage.table, column: damage.column, entity: damage.entity, property: damage.property,
                rows: Int(damage.rows), sentence: damage.sentence)
        }
    }
}
