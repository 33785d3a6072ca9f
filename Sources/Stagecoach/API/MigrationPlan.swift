import CoreDataStore
import Diagnostics

/// The plan of a migration with the reasons for it; can be printed, saved, reviewed and run.
///
/// ``Migration/plan()`` makes it; ``MigrationOptions/plan`` runs it. The run follows ``Model/passes`` and the keys of
/// ``Model/tables``, so both may be edited. Everything else follows from models, mapping models and source; a plan that
/// no longer agrees with them is refused.
///
/// ```swift
/// let plan = try migration.plan()
/// print(plan.models[0].passes.count, "passes,", plan.disk.destination, "bytes on disk")
/// var options = MigrationOptions()
/// options.plan = plan
/// ```
public struct MigrationPlan: Sendable, Codable, Equatable {
    /// The current version of the format of a saved plan.
    public static let currentFormatVersion = 1

    /// The version of the format in which the plan is saved.
    public var formatVersion = MigrationPlan.currentFormatVersion
    /// The inputs that the plan was made for.
    public var inputs: Inputs
    /// The plan of each mapping model, in turn.
    public var models: [Model]
    /// The memory that the run needs.
    public var memory: Memory
    /// The disk space that the run needs.
    public var disk: Disk
    /// Tables and columns that the source lacks and that are read as empty or nil; nil if it lacks none.
    public var repairs: [Repair]?
    /// Data of the source that no entity mapping carries over; nil if there is none.
    public var leftBehind: LeftBehind?
    /// Links for which the destination has no room, as far as a plan counts them: at least so many are not made; nil if none are
    /// known.
    public var linksNotMade: [LinksNotMade]?
    /// Ordered relationships of the source whose order is not kept; nil if there are none.
    public var ordersNotKept: [OrdersNotKept]?
    /// Numbers of which a conversion cuts something off, as far as the plan can count them; nil if there are none.
    public var valuesCut: [ValuesCut]?
    /// Source objects that pass no filter of their entity's several entity mappings, as far as the plan can count them; nil if
    /// there are none.
    public var passesNoFilter: [PassesNoFilter]?
    /// Names that are taken over from the source or chosen by a rule without evidence, and what the source's schema has beside
    /// the model: taken over or left behind, with the reason. A sentence each; nil if there is nothing to say.
    public var layout: [String]?
    /// The error that would end the run because of the source's objects, if that is certain; nil if only the run shows it.
    public var refusal: Refusal?

    /// The passes of all mapping models.
    public var passes: [Pass] { models.flatMap(\.passes) }
    /// True if any mapping model takes the policy path.
    public var isStaged: Bool { models.contains(where: \.isStaged) }

    /// The properties of all mapping models that could not be mapped and are left without a value.
    public var unmapped: [Unmapped] { models.flatMap { $0.unmapped ?? [] } }
    /// Expressions of all mapping models that do not fit their properties and that nothing evaluates.
    var unevaluated: [String] { models.flatMap { $0.unevaluated ?? [] } }

    /// The plan of one mapping model.
    public struct Model: Sendable, Codable, Equatable {
        /// True for the policy path: user code may run.
        public var isStaged: Bool
        /// The reasons for the policy path, one sentence each; empty for the row path.
        public var reasons: [String]
        /// The entity mappings, in mapping order.
        public var entityMappings: [EntityMapping]
        /// The tables, in the destination's order.
        public var tables: [Table]
        /// Every stored relationship of the destination model, listed at the entity that declares it.
        public var relationships: [Relationship]
        /// Groups of root entities that belong together because they refer to each other in a circle or share links; in
        /// the order in which they are loaded.
        public var groups: [[String]]
        /// The passes, in order.
        public var passes: [Pass]
        /// The point from which a killed run resumes; nil in plans of older program versions.
        public var resume: String?
        /// Properties that could not be mapped and are left without a value; nil if there are none.
        public var unmapped: [Unmapped]?
        /// Expressions that do not fit their properties, of entity mappings without source objects, and validation
        /// predicates of the model that cannot be evaluated. A sentence each; nil if there are none.
        public var unevaluated: [String]?
    }

    /// A property that could not be mapped and is left without a value.
    public struct Unmapped: Sendable, Codable, Equatable {
        /// The destination entity that declares it.
        public var entity: String
        /// The property's name.
        public var name: String
        /// `Entity.name` of the source property whose values stay behind; nil if it is not known.
        public var source: String?
        /// Source objects that have a value there; nil if they are not counted, as when the source does not exist yet.
        public var values: Int?
        /// The reason, as a sentence without a full stop.
        public var reason: String

        /// The whole entry as a sentence without a full stop.
        public var sentence: String {
            let count = values.map { $0.counted("object has", "objects have") + " a value there" }
            let left = source.map { source in
                "what \(source) has stays behind" + (count.map { ", and \($0)" } ?? "")
            }
            return (["\(entity).\(name) is left unmapped"] + [left].compactMap { $0 }).joined(separator: ", ")
                + ": \(reason)"
        }
    }

    /// A table or column that a damaged source lacks, and how it is read: ``MigrationOptions/repairs``.
    public struct Repair: Sendable, Codable, Equatable {
        /// The table that is missing, or that lacks the column.
        public var table: String
        /// The column; nil if the whole table is missing.
        public var column: String?
        /// The source entity that is affected.
        public var entity: String
        /// The entity's attribute or relationship; nil if the whole entity is affected.
        public var property: String?
        /// The number of rows that are read without the column. For a missing table: the highest key that it gave,
        /// which is the largest number of rows it can have had.
        public var rows: Int
        /// The whole entry as a sentence without a full stop.
        public var sentence: String
    }

    /// The way an entity mapping's objects are made.
    public struct EntityMapping: Sendable, Codable, Equatable {
        /// The entity mapping's name.
        public var name: String
        /// The source entity; nil if it has none.
        public var sourceEntity: String?
        /// The destination entity; nil if it has none.
        public var destinationEntity: String?
        /// The form of its objects: rows, objects, or none.
        public var path: Path
        /// The reason for this form.
        public var reason: String
        /// Source objects before the filter.
        public var sourceRows: Int
        /// True if a filter may leave some out.
        public var isFiltered: Bool
        /// The reason why a killed run cannot be resumed inside this mapping, without a full stop; nil if it can.
        public var obstacle: String?
    }

    /// The form in which an entity mapping's objects pass through the engine.
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
        /// The keys that its rows get.
        public var keys: KeyMode
        /// The reason why the keys are not kept; nil if they are.
        public var reason: String?
        /// Source rows that the mappings read.
        public var sourceRows: Int
    }

    /// The way the links of a destination relationship are found.
    public struct Relationship: Sendable, Codable, Equatable {
        /// The entity that declares it.
        public var entity: String
        /// The relationship's name.
        public var name: String
        /// The entity of the related objects.
        public var destinationEntity: String
        /// The root entity of the objects that have the relationship.
        public var rootEntity: String
        /// The root entity of the related objects, whose table holds them.
        public var destinationRootEntity: String
        /// `Entity.name` of the inverse; nil if there is none.
        public var inverse: String?
        /// True if an object may have more than one related object.
        public var isToMany: Bool
        /// `Entity.name` of the side whose column holds the links, or the join table's name.
        public var carrier: String?
        /// The way its links are resolved.
        public var resolution: Resolution
        /// The pass in which its links are resolved, counted from 1; nil if there are none.
        public var pass: Int?
        /// True if the links wait on disk for a later pass than the first that knows one of the sides.
        public var isDeferred: Bool
    }

    /// The time at which a relationship's links are known.
    public enum Resolution: String, Sendable, Codable {
        /// No entity mapping sets it.
        case untouched
        /// Looked up row by row, while the rows that hold it are read.
        case row
        /// Resolved for the whole table before its rows are loaded, and merged into them by key.
        case table
        /// Sorted into the join table, once both sides are closed.
        case join
        /// Set through the inverse, which carries the links.
        case inverse
        /// Logged by the stages, and merged at the load. Links of policies come after those of the mapping model.
        case logged
    }

    /// A pass of the load.
    public struct Pass: Sendable, Codable, Equatable {
        /// The steps of the pass, in order.
        public var steps: [Step]
        /// The join tables loaded at the pass's end, when both sides are closed.
        public var joinTables: [String]
        /// The relationships, as `Entity.name`, whose links are resolved for whole tables in this pass.
        public var resolves: [String]
        /// The estimated size of the pass's rows in the destination, in bytes.
        public var destinationBytes: Int
        /// The estimated size of the pass's files in the work directory, in bytes.
        public var workBytes: Int
        /// The most memory, in bytes, that the pass's batches, caches, keys and sorts take beyond the process's own.
        public var memoryBytes: Int
    }

    /// The rows of one root entity that are loaded together.
    public struct Step: Sendable, Codable, Equatable {
        /// The destination's root entity, whose table is loaded.
        public var rootEntity: String
        /// Names of the entity mappings whose rows are loaded.
        public var entityMappings: [String]
        /// The Z_PK after which source rows begin; nil: from the first.
        public var afterKey: Int64?
        /// The Z_PK of the last source row; nil: to the last.
        public var throughKey: Int64?
        /// The estimated number of source rows.
        public var sourceRows: Int
        /// True if the table closes with this step: its rules are checked and its indexes built.
        public var closes: Bool
    }

    /// The memory needed, in bytes.
    public struct Memory: Sendable, Codable, Equatable {
        /// The limit that the plan was made for.
        public var limit: Int
        /// The least memory that the engine's parts need, beyond what the process holds before the run.
        public var least: Int
    }

    /// The disk space needed, in bytes; estimates.
    public struct Disk: Sendable, Codable, Equatable {
        /// The destination's file.
        public var destination: Int
        /// The work directory: spills, association tables, sorts and copies.
        public var work: Int
        /// The least space the run needs; with less, it is refused before anything is written.
        public var least: Int
    }
}

extension MigrationPlan.Model {
    /// Returns the sentence about an expression that does not fit and that nothing evaluates.
    static func unevaluated(_ misfit: (mapping: Mapping.EntityMapping, property: String, reason: String)) -> String {
        "\(misfit.mapping.name ?? "").\(misfit.property) does not fit, and \(misfit.mapping.sourceEntityName ?? "") has no "
            + "objects that need it: \(misfit.reason)"
    }
}

extension MigrationPlan.Repair {
    /// Returns the repairs of a damaged source; nil if nothing is missing.
    static func list(_ layout: StoreLayout) -> [MigrationPlan.Repair]? {
        guard !layout.damages.isEmpty else { return nil }
        return layout.damages.map { damage in
            MigrationPlan.Repair(
                table: damage.table, column: damage.column, entity: damage.entity, property: damage.property,
                rows: Int(damage.rows), sentence: damage.sentence)
        }
    }
}
