import SwiftData
@Model
final class Seat {
    #Unique<Seat>([\.row, \.number], [\.code])
    #Index<Seat>(
        [\.row],
        [\.row, \.number]
    )
    @Attribute(.unique) var id: UUID
    var row: Int
    var number: Int
    var code: String
}
