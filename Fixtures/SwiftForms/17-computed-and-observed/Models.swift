import SwiftData
@Model final class Account {
    var balance: Decimal = 0
    var total: Decimal {
        get { balance }
        set { balance = newValue }
    }
    var owner: String = "" { didSet { print(owner) } }
    var limit: Int {
        willSet { print("}") }
    }
    lazy var helper: Int = { 3 }()
    subscript(index: Int) -> Int { index }
    class func make() -> Account { Account() }
    init() {}
    deinit { print("x") }
}
