import SwiftData
@Model class Animal { var name: String }
@available(iOS 26, *)
@Model class Dog: Animal { var tricks: Int }
