import SwiftData
@Model class Outer {
    var name: String
    var inner: Inner?
    var state: State
    enum State: String, Codable { case on, off }
    @Model class Inner {
        enum State: Int, Codable { case one, two }
        var state: State
        @Relationship(inverse: \Outer.inner) var owner: Outer?
    }
    enum CodingKeys: CodingKey { case name }
    required init(from decoder: any Decoder) throws { name = ""; state = .on }
}
extension Outer: Codable { func encode(to encoder: any Encoder) throws {} }
