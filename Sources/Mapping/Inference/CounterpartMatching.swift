/// The name and renaming identifier by which two versions of a model are matched.
struct RenamableName: Hashable {
    let name: String
    /// The renaming identifier; nil if none is set. One equal to the name counts as none, because compiled models always have
    /// one, equal to the name if the developer set none.
    let identifier: String?

    init(name: String, identifier: String?) {
        self.name = name
        self.identifier = identifier == name ? nil : identifier
    }
}

/// Matches each item of the new version with its counterpart in the old version. One rule serves entities and properties.
///
/// There are four rounds, the strongest claim first. A matched item takes no part in later rounds, so every old item is used at
/// most once:
///
/// 1. Both have the same renaming identifier. Identifiers are canonical names that stay through several renamings, so this
///    finds version 2 → 3 after `color` → `paintColor` (identifier `color`) → `primaryColor` (`color`).
/// 2. The new item's identifier is the old item's name: the renaming itself, and version 1 → 3 of the chain above. It precedes
///    equal names because it is explicit: if `name` became `fullName` and a new `name` was added, the old values belong to
///    `fullName`.
/// 3. The names are equal, even if identifiers are set that matched nothing. Core Data then keeps the rows: `Conversation` of
///    zmessaging 2.47.0 has the identifier `messageDestructionTimeout` by mistake, and the rows passed 2.46 → 2.47 → 2.48
///    unharmed (store2-45-0 and store2-50-0 of one database).
/// 4. The new item's name is the old item's identifier: it was renamed back to the canonical name. In Core Data an item without
///    an identifier has its name as its identifier, so this is an ordinary renaming, even if the types differ: zmessaging
///    2.53.0 gives the Boolean `isSilenced` the identifier `mutedStatus`, 2.54.0 has an Integer 32 of that name, and the app
///    ships a mapping model for the step.
///
/// Within a round, equal names have priority, then the order of the lists.
enum CounterpartMatching {
    /// Matches new items with old ones.
    ///
    /// - Parameters:
    ///   - destinations: the items of the new version, in a stable order, with unique names.
    ///   - sources: the items of the old version, likewise.
    /// - Returns: the index of its source for each destination; nil for a new item.
    /// - Complexity: O(n) in items of both lists (identifiers shared by k sources cost k at each of their users).
    static func match(
        destinations: [RenamableName], sources: [RenamableName]
    ) -> [Int?] {
        var byName: [String: Int] = [:]
        var byIdentifier: [String: [Int]] = [:]
        for (index, source) in sources.enumerated() {
            byName[source.name] = index
            if let identifier = source.identifier { byIdentifier[identifier, default: []].append(index) }
        }
        var result = [Int?](repeating: nil, count: destinations.count)
        var isTaken = [Bool](repeating: false, count: sources.count)

        func round(_ candidates: (RenamableName) -> [Int]) {
            for mustShareName in [true, false] {
                for (index, destination) in destinations.enumerated() where result[index] == nil {
                    let found = candidates(destination).first {
                        !isTaken[$0] && (!mustShareName || sources[$0].name == destination.name)
                    }
                    guard let found else { continue }
                    result[index] = found
                    isTaken[found] = true
                }
            }
        }
        round { $0.identifier.flatMap { byIdentifier[$0] } ?? [] }
        round { $0.identifier.flatMap { byName[$0] }.map { [$0] } ?? [] }
        round { byName[$0.name].map { [$0] } ?? [] }
        round { byIdentifier[$0.name] ?? [] }
        return result
    }
}
