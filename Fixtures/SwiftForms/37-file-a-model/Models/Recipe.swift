import Foundation
import SwiftData

/// A recipe. `var ghost: Int` is only in this comment.
extension RecipesV2 {
    @Model
    @available(iOS 17, macOS 14, *)
    public final class Recipe: Identifiable, CustomStringConvertible {
        @Attribute(.unique, originalName: "title")
        public var name: String
        public private(set) var createdAt: Date
        internal fileprivate(set) var rating: Int = 0 { didSet { if rating < 0 { rating = 0 } } }
        @Relationship(deleteRule: .cascade, inverse: \RecipesV2.Step.recipe)
        public var steps: [Step]?
        @Relationship(inverse: \Tag.recipes) var tags: [Tag]
        var difficulty: Difficulty = Difficulty.easy
        var course: Course?
        @Transient var isEditing = false
        public var description: String { "\(name): \(steps?.count ?? 0)" }
        var sorted: [Step] {
            get { (steps ?? []).sorted { $0.number < $1.number } }
            set { steps = newValue }
        }
        public init(name: String, tags: [Tag] = []) {
            self.name = name
            self.createdAt = Date()
            self.tags = tags
        }
    }
}
