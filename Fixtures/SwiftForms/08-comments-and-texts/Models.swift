import SwiftData
/* class Fake { /* @Model */ var x: Int } */
// @Model class Other { var y: Int }
@Model final class Note /* { */ {
    var text: String = """
        a { brace
        "quoted" \"\"\" and more
        """
    var raw = #"\("no") }"#
    var sum: String = "a\(("}" as String) + "\("{")")b"
    let pattern = 3 // }
    func match() -> Bool { text.contains(/[{"]+/) && text != #/"{/# }
    var last: Bool
}
