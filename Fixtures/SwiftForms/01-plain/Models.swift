import Foundation
import SwiftData

@Model
final class Book {
    var title: String
    private var pages: Int?
    var price = 12.5
    var isLent = false
    var code: Int32 = 0x1F
    var shelf, room: Int16
    var published: Date = Date()
    @Transient var isOpen: Bool = false
    static let limit = 3
    var label: String { "\(title) }" }

    init(title: String) { self.title = title }
}
