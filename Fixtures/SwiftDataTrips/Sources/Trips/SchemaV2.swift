import Foundation
import SwiftData

/// The second version: notes are called summary, a trip can be a favourite and has travellers.
public enum SchemaV2: VersionedSchema {
    public static let versionIdentifier = Schema.Version(2, 0, 0)

    public static var models: [any PersistentModel.Type] { [Trip.self, Stop.self, Traveller.self] }
}

extension SchemaV2 {
    @Model
    public final class Trip {
        #Index<Trip>([\.startsOn])

        @Attribute(.unique) public var id: UUID
        public var title: String
        @Attribute(originalName: "notes") public var summary: String?
        public var budget: Decimal = 0
        public var startsOn: Date
        public var state: TripState = TripState.planned
        public var isFavourite: Bool = false
        @Relationship(deleteRule: .cascade, inverse: \Stop.trip) public var stops: [Stop] = []
        @Relationship(inverse: \Traveller.trips) public var travellers: [Traveller] = []

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

    @Model
    public final class Traveller {
        public var name: String
        public var trips: [Trip] = []

        public init(name: String) { self.name = name }
    }
}
