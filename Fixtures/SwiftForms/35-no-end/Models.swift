import SwiftData

@Model final class Cut {
    var name: String
    var text: String { "{"
}
