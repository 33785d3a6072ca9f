import SwiftData
@Model final class Owner { var pets: [Pet]? }
@Model final class Pet { var owner: Owner? }
