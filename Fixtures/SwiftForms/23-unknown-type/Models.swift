import SwiftData
import CoreLocation
@Model final class Spot {
    var name: String
    var place: CLLocationCoordinate2D
}
