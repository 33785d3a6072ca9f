import SwiftData
enum Category: Raw, Codable, CaseIterable, Identifiable { case food = "FOOD", rent; var id: Self { self } }
typealias Raw = String
typealias Money = Decimal
typealias Labels = [String]
struct Amount: Codable, Hashable, Sendable {
    static let zero = Amount(value: 0, currency: "EUR")
    var value: Money
    let currency: String
    var note: String? = nil
    var kind: Category = .food
    var isZero: Bool { value == 0 }
    var rounded: Money { get { value } }
    func adding(_ other: Amount) -> Amount { self }
    enum Sign: Int8, Codable { case plus = 1, minus = -1 }
}
extension Amount { init(_ text: String) { self.init(value: 0, currency: text) } }
extension Amount: Comparable { static func < (a: Self, b: Self) -> Bool { a.value < b.value } }
@Model final class Entry {
    var amount: Amount
    var previous: Amount?
    var sign: Amount.Sign
    var category: Category = Category.food
    var raw: String = Category.food.rawValue
    var labels: Labels
    var others: [Category]
    var sums: [String: Amount]
    var weekday: Weekday
    var limit: Int = Entry.defaultLimit
    var most: Int = Limits.most
    static let defaultLimit = 12
    enum Weekday: Codable { case monday, tuesday }
    init() {}
}
enum Limits { static let most: Int = Self.least * 2; static let least = 3 }
