import Diagnostics

/// Refuses migrations because of data that they would leave behind, depending on ``MigrationOptions/onLoss``.
enum LossRefusal {
    /// Refuses an account that names any lost data, if the options ask for it.
    ///
    /// - Throws: `migration.loss` (65) with the first lines and what to do.
    static func check(_ left: LeftBehind?, _ options: MigrationOptions) throws(MigrationError) {
        guard options.onLoss == .refuse, let left, !left.isEmpty else { return }
        throw error(left)
    }

    /// Refuses links that are lost between migrated objects, and lost orders, if the options ask for it.
    ///
    /// - Throws: `migration.loss` (65) with the first lines and what to do.
    static func check(
        links: [LinksNotMade]?, orders: [OrdersNotKept]?, _ options: MigrationOptions
    ) throws(MigrationError) {
        guard options.onLoss == .refuse else { return }
        let (links, orders) = ((links ?? []).filter(\.isLoss), (orders ?? []).filter(\.isLoss))
        guard !links.isEmpty || !orders.isEmpty else { return }
        let remedy = orders.lazy.compactMap(\.remedy).first
        throw MigrationError(
            "migration.loss", .data,
            "The migration would leave data of the source behind: "
                + (links.map(\.sentence) + orders.map(\.sentence)).shown,
            remedy: (links.isEmpty
                ? "" : "Give the relationship room for all links, or map them with a mapping model of your own; ")
                + (remedy.map { $0 + "; " } ?? "") + "--on-loss warn migrates nevertheless")
    }

    /// Refuses conversions that cut something off numbers, if the options ask for it.
    ///
    /// - Throws: `migration.loss` (65) with the first lines and what to do.
    static func check(_ cuts: [ValuesCut]?, _ options: MigrationOptions) throws(MigrationError) {
        let lost = (cuts ?? []).filter(\.isLoss)
        guard options.onLoss == .refuse, !lost.isEmpty else { return }
        let isFraction = lost.contains { $0.part == .fraction }
        throw MigrationError(
            "migration.loss", .data, "The migration would cut numbers of the source: \(lost.map(\.sentence).shown)",
            remedy: (isFraction
                ? "Say in the expression that it is meant, by floor:, trunc: or ceiling:, or give" : "Give")
                + " the attribute a type that holds the numbers; --allow-loss with the name of the source's attribute says that "
                + "this is meant, too; --on-loss warn migrates nevertheless")
    }

    /// Refuses objects that pass no filter, if the options ask for it.
    ///
    /// - Throws: `migration.loss` (65).
    static func check(_ gaps: [PassesNoFilter]?, _ options: MigrationOptions) throws(MigrationError) {
        let lost = (gaps ?? []).filter(\.isLost)
        guard options.onLoss == .refuse, let first = lost.first else { return }
        throw MigrationError(
            "migration.loss", .data,
            "The migration would leave objects of the source behind: \(lost.map(\.sentence).shown)",
            remedy:
                "Let a source filter of \(first.entity) take them too (for nil, a comparison is neither true nor false); "
                + "\"losses\": [\"\(first.entity)\"] in the mapping model, or --allow-loss \(first.entity), says that this "
                + "is meant; --on-loss warn migrates nevertheless")
    }

    /// Returns the error for an account that names lost data.
    static func error(_ left: LeftBehind) -> MigrationError {
        let lines = left.lost.map(\.sentence).shown
        let suggestion = left.lost.lazy.compactMap { $0.suggestions?.first }.first
        return MigrationError(
            "migration.loss", .data, "The migration would leave data of the source behind: \(lines)",
            remedy: (suggestion.map { $0.text + "; or " } ?? "")
                + "set a renaming identifier in the destination model, or add the property to a JSON mapping model; "
                + "--allow-loss \(left.lost.first?.name ?? "NAME") says that this is meant; --on-loss warn migrates nevertheless"
        )
    }

    /// Refuses a migration that makes no object from a source with objects. With policies it is allowed: a policy may
    /// find that the objects exist already, or drop all that it receives.
    ///
    /// - Parameters:
    ///   - made: destination objects, invalid ones included.
    ///   - objects: the number of objects in the source.
    ///   - hasPolicies: true if a policy received objects.
    /// - Throws: `migration.empty` (65).
    static func check(
        made: Int, of objects: Int, hasPolicies: Bool, _ options: MigrationOptions
    ) throws(MigrationError) {
        guard options.onLoss != .allow, made == 0, objects > 0, !hasPolicies else { return }
        throw MigrationError(
            "migration.empty", .data,
            "None of the source's \(objects.counted("object")) would have a destination object",
            remedy: "Look at the entity mappings, their source filters and the renaming identifiers of the entities; "
                + "--on-loss allow makes the empty store")
    }
}

extension MigrationPlan {
    /// Refuses data losses that a run with the options would refuse.
    ///
    /// - Throws: `migration.loss` (65).
    public func checkLosses(_ options: MigrationOptions) throws(MigrationError) {
        try LossRefusal.check(leftBehind, options)
        try LossRefusal.check(links: linksNotMade, orders: ordersNotKept, options)
        try LossRefusal.check(valuesCut, options)
        try LossRefusal.check(passesNoFilter, options)
    }
}

extension LeftBehind.Line {
    /// The amounts, such as `5,000 values` or `3 objects, 7 values, 1 link`; nil if nothing is counted.
    public var amounts: String? { LeftBehind.amounts(objects, values, links) }

    /// The reason why it stays behind, in words that follow a name.
    public var why: String { reason.words }

    /// The line as a sentence: `Author.name, 5,000 values, is read by no entity mapping`.
    public var sentence: String {
        let place = step.map { "\($0): " } ?? ""
        return place + ([name] + [amounts].compactMap { $0 } + [why]).joined(separator: ", ")
    }
}

extension LeftBehind.Reason {
    /// The reason as the rest of a sentence: `is read by no entity mapping`.
    public var words: String {
        switch self {
        case .unread: "is read by no entity mapping"
        case .filterOnly: "is read by source filters only"
        case .policy: "is read by no expression; a policy may read it, which is not known"
        case .withoutMapping: "has no entity mapping"
        case .removed: "has only a remove mapping"
        case .otherEntity: "is in rows of an entity that does not have it, where only SQL sees it"
        }
    }
}
