import SwiftData

// A comma between generic arguments ends no value, and a value says its type if it is an initializer's.
@Model final class Box {
    var counts = Dictionary<String, Int>()
    var names = [String]()
    var ages = [String: Int](), size = 2
    var last: Int = 3

    init() {}
}
