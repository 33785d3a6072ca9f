import SwiftData
import SwiftUI

@available(iOS 17.0, *)
@MainActor
@Model
final public class Account: Identifiable, Hashable, @unchecked Sendable {
    @Attribute(.unique) @available(*, deprecated, renamed: "key") public var id: UUID = UUID()
    @Attribute(.allowsCloudEncryption) var token: String?
    @MainActor var name: String
    nonisolated(unsafe) var count: Int = 0
    private var _balance: Int64 = 0
    @ObservationIgnored var cache: Int32 = 0
    @Transient
    @ObservationIgnored
    lazy var formatter: DateFormatter = { let f = DateFormatter(); return f }()
    static var all: FetchDescriptor<Account> { FetchDescriptor(predicate: #Predicate<Account> { $0.name == "}" }) }
    static let shared = 3
    class var kind: String { "account" }
    weak var unused: Account?
    public override init() {}
    public static func == (l: Account, r: Account) -> Bool { l.id == r.id }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
    subscript(key: String) -> Int { get { 0 } set { } }
    nonisolated init(name: String) async throws(Never) { self.name = name }
}
