import SwiftData; import Foundation
@Model final class Odd{var a:Int=1;var b:String="x";var c:[String:[Int]]?=nil
  var
    d
    : Int
    = 4 +
      5
  var e: Bool = { () -> Bool in true }()
  var f: Int? = Optional<Int>.none, g: Int = -7
  @Attribute( .unique )
  public
  internal(set)
  var h: UUID = UUID()
  @Relationship(deleteRule: .nullify,
                inverse: \Other.odd)
  var others: [Other] = .init()
  var i: ((Int) -> Void)? { nil }
}
@Model final class Other { var odd: Odd? = nil }
