import SwiftData
private enum Kind: String, Codable { case a }
@Model final class A { fileprivate var kind: Kind? }
