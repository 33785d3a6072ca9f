import SwiftData; import Foundation
/* A class: /* nested { */ @Model final class Ghost { var a: Int } */
@Model /* here */ final /* there */ class /* name */ Book /* : Base */ {
    var /* c */ name /* : Int */ : String = "a" // = "b"
    @Attribute /* odd */ (
        .unique // , .ephemeral
    )
    // @Transient
    var isbn:String=""
    var a = 1, b = "x", c: Double? = nil, d, e: Int
    var text: String = """
        one "two" }
        three \
        four
        """
    var raw: String = #"a "quoted" \n one"#
    var list: [Int] = (0..<3).map { $0 * 2 }
    var made: Int = { let x = 3; return x }()
    var seconds: TimeInterval = 60 * 60
    var small: Double = 1e-3
    var share: Double = .pi
    var when: Date = Date.now; var until: Date = .distantFuture
    var price: Decimal = Decimal(string: "1.5")!
    var flag: Bool = !false
    var other: Bool = false
    var `class`: String = ""
    var `default`: Int = -1
    var condition: Int = if Bool.random() { 1 } else { 2 }
    var joined: String = "a"
        + "b"
    var choice: String = Bool.random()
        ? "a"
        : "b"
    var pages: (Int) = 3
    var words: Array<String>? = nil; var counts: Dictionary<String, Int> = [:]
    var bytes: [UInt8] = [1, 2]
    var last: Optional<Int>
    init() { self.d = 1; self.e = 2; self.isbn = "" }
}
