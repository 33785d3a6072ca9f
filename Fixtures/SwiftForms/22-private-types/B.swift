import SwiftData
private struct Kind: Codable { var x: Int }
@Model final class B { fileprivate var kind: Kind? }
