import SwiftData

public typealias Trip = SchemaV2.Trip
public typealias Stop = SchemaV2.Stop
public typealias Traveller = SchemaV2.Traveller

/// The way from version to version.
public enum TripsPlan: SchemaMigrationPlan {
    public static var schemas: [any VersionedSchema.Type] { [SchemaV1.self, SchemaV2.self] }

    public static var stages: [MigrationStage] { [oneToTwo] }

    static let oneToTwo = MigrationStage.lightweight(fromVersion: SchemaV1.self, toVersion: SchemaV2.self)
}
