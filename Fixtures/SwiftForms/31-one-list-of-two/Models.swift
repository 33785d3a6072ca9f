import SwiftData
@Model final class A { var a: Int }
@Model final class B { var b: Int }
