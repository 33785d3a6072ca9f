import SwiftData
@Model class Everything {
    var a: Bool; var b: String; var c: Int; var d: Int64; var e: UInt64; var f: Int32; var g: UInt32
    var h: Int16, i: UInt16, j: UInt8
    var k: Double = 2, l: TimeInterval, m: Decimal = 1.25
    var n: Date, o: Data, p: UUID
    var q: Swift.String, r: Foundation.Date?
    var s: Optional<Int>, t: String!
}
