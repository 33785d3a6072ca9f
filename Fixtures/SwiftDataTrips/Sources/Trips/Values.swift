/// The state of a trip.
public enum TripState: String, Codable, CaseIterable {
    case planned, booked, over
}

/// A position on the map.
public struct Position: Codable, Hashable {
    public var latitude: Double
    public var longitude: Double
    public var label: String?
}
