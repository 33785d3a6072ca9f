import SwiftData
@Model final class Person {
    var home: Address
    var work: Address?
    struct Address: Codable {
        static let none = Address(street: "", number: nil, kind: .flat)
        var street: String
        var number: Int?
        var kind: Kind
        var line: String { street }
        var rooms: [Int] = []
        enum Kind: Int, Codable { case flat, house }
    }
}
