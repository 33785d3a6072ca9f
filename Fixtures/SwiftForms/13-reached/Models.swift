import SwiftData
@Model final class Root { var leaf: Leaf? }
@Model final class Leaf { var twig: Twig? }
@Model final class Twig { var name: String }
@Model final class Alone { var name: String }
func make() throws -> ModelContainer { try ModelContainer(for: Root.self, configurations: .init(isStoredInMemoryOnly: true)) }
