import SwiftData
class Base { var stored: Int = 0 }
@Model final class Item: Base { var name: String }
