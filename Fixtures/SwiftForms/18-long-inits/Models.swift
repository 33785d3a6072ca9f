import SwiftData
import Foundation

@available(iOS 17, macOS 14, *)
@Model
public final class Order: CustomStringConvertible {
    public var number: Int
    public private(set) var placed: Date = Date.now
    var total: Double = Defaults.total
    var note: String? = nil
    var tags: [String] = ["a", "b"].map { $0 + "}" }
    fileprivate var secret = "s"
    nonisolated static let shared = [1: { (x: Int) in x }]

    public init(
        number: Int = 3, placed: Date = .now, make: (Int) -> Int = { $0 }, note: String? = nil
    ) where Int: Equatable {
        self.number = number
        let inner: [Int] = [1, 2]
        struct Local { var x: Int }
        var unused: Local
        if number < 3 { self.note = "{" } else { self.note = note }
        guard case .some(let value) = note else { return }
        print(value, inner)
    }
    public var description: String { get { "Order" } }
}
enum Defaults { static let total = 9.5 }
