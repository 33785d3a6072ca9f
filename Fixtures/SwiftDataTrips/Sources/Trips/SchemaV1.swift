import Foundation
import SwiftData

/// The first version of the app.
public enum SchemaV1: VersionedSchema {
    public static let versionIdentifier = Schema.Version(1, 0, 0)

    public static var models: [any PersistentModel.Type] { [Trip.self, Stop.self] }

    @Model
    public final class Trip {
        @Attribute(.unique) public var id: UUID
        public var title: String
        public var notes: String?
        public var budget: Decimal = 0
        public var startsOn: Date
        public var state: TripState = TripState.planned
        @Relationship(deleteRule: .cascade, inverse: \Stop.trip) public var stops: [Stop] = []

        public init(id: UUID = UUID(), title: String, startsOn: Date) {
            self.id = id
            self.title = title
            self.startsOn = startsOn
        }
    }

    @Model
    public final class Stop {
        public var name: String
        public var nights: Int = 1
        public var position: Position?
        public var tags: [String] = []
        public var trip: Trip?

        public init(name: String) { self.name = name }
    }
}
