import Diagnostics
import ManagedModel
import Mapping

extension Migration {
    /// Returns the source objects that pass no filter of their entity's several entity mappings; nil if there are none.
    ///
    /// - Parameter run: the run, which can evaluate more filters than a plan; nil before one.
    /// - Complexity: one pass over the rows of the entities that several filters divide.
    func passesNoFilter(_ prepared: Prepared, _ run: MigrationRun? = nil) throws -> [PassesNoFilter]? {
        let count = FilterGapCount(
            source: prepared.source, layout: prepared.layout, mappings: prepared.mappings, meant: prepared.left.meant,
            batchBytes: prepared.budget.batch)
        var gaps = try count.count(run) { if let error = cancellation.error { throw error } }
        if options.onLoss == .allow {
            for index in gaps?.indices ?? 0..<0 { gaps?[index].isAllowed = true }
        }
        return gaps
    }

    /// Returns an account of the data that the migration leaves behind. Values that readers have not counted on their
    /// way are counted here.
    ///
    /// - Parameter counting: false if the source has no rows yet.
    /// - Complexity: O(pages of the tables that were not read).
    func leftBehind(_ prepared: Prepared, counting: Bool = true) throws -> LeftBehind? {
        var account: LeftBehind?
        if counting {
            countValues(prepared)
            account = try prepared.left.count(in: prepared.source) {
                if let error = cancellation.error { throw error }
            }
        } else {
            account = prepared.left.uncounted()
        }
        guard var account else { return nil }
        account.isAllowed = options.onLoss == .allow
        // A route through other versions does not help a caller who gives the mapping models.
        let isInferred = mappingModels.allSatisfy { $0.path == nil && $0.rulesOfTheSource == .warn }
        if let losingStep {
            for index in account.lines.indices where account.lines[index].reason != .otherEntity {
                account.lines[index].step = losingStep(account.lines[index])
            }
        }
        try LossSuggestions(
            mappings: mappingModels.flatMap { $0.entityMappings ?? [] }, source: sourceModel,
            destination: destinationModel, detour: { isInferred ? self.detour?($0) : nil },
            prices: { [self] conversions in
                // The source of a later run of a chain has no rows yet.
                guard counting else { return [:] }
                return try valueCutCount(prepared).prices(conversions) {
                    if let error = cancellation.error { throw error }
                }
            }
        ).add(to: &account)
        return account
    }

    /// Lets readers of the source count what an account of a run needs.
    func countValues(_ prepared: Prepared) {
        prepared.source.countValues(in: prepared.left.columns, comparing: prepared.left.tablesOfOneEntity)
    }

    /// Returns the wrong numbers of the source that the destination has right; nil if there are none.
    ///
    /// - Complexity: O(pages of the tables that were not read).
    func correctedBookkeeping(_ prepared: Prepared) throws -> [CorrectedBookkeeping]? {
        countValues(prepared)
        return try prepared.left.correctedBookkeeping(in: prepared.source) {
            if let error = cancellation.error { throw error }
        }
    }

    private func valueCutCount(_ prepared: Prepared) -> ValueCutCount {
        ValueCutCount(source: prepared.source, layout: prepared.layout, batchBytes: prepared.budget.batch)
    }

    /// Returns the numbers that conversions would cut, as far as the source alone tells; nil if there are none.
    func valuesCut(_ prepared: Prepared) throws -> [ValuesCut]? {
        let cuts = try valueCutCount(prepared).count(prepared.mappings) {
            if let error = cancellation.error { throw error }
        }
        return marking(cuts, prepared)
    }

    /// Returns lines in which those are marked whose loss is declared, by an attribute from which the values are computed, or
    /// allowed; nil if there are none.
    func marking(_ cuts: [ValuesCut]?, _ prepared: Prepared) -> [ValuesCut]? {
        (cuts ?? []).map { line in
            var line = line
            line.isMeant = isMeant(line, prepared) ? true : nil
            line.isAllowed = options.onLoss == .allow ? true : nil
            return line
        }.inOrder
    }

    private func isMeant(_ line: ValuesCut, _ prepared: Prepared) -> Bool {
        prepared.mappings.contains { mapping in
            guard let source = mapping.source else { return false }
            return mapping.attributes.contains { planned in
                guard planned.attribute.label == line.attribute, let expression = planned.expression else {
                    return false
                }
                return expression.attributesRead(of: source).contains {
                    prepared.left.meant.covers(entity: source, property: $0)
                }
            }
        }
    }

    /// Returns the links for which the destination has no room, as far as the source alone tells.
    func linkShortages(_ prepared: Prepared) throws(MigrationError) -> [LinksNotMade] {
        try marking(
            LinkShortages(layout: prepared.layout, mappings: prepared.mappings).count(in: prepared.source), prepared)
    }

    /// Returns lines in which those are marked whose loss is declared, by either side of the pair, or allowed.
    func marking(_ links: [LinksNotMade], _ prepared: Prepared) -> [LinksNotMade] {
        links.map { line in
            var line = line
            (line.isMeant, line.isAllowed) = marks(line.source, prepared)
            return line
        }
    }

    private func marks(_ label: String, _ prepared: Prepared) -> (isMeant: Bool?, isAllowed: Bool?) {
        (isMeant(label, prepared) ? true : nil, options.onLoss == .allow ? true : nil)
    }

    /// Tells whether the loss of a source relationship's links is declared.
    ///
    /// - Parameter label: `Entity.relationship`.
    private func isMeant(_ label: String, _ prepared: Prepared) -> Bool {
        let parts = label.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2, let relationship = sourceModel.entity(named: parts[0])?.relationship(named: parts[1])
        else { return false }
        return [relationship, relationship.inverseRelationship].compactMap(\.self).contains {
            prepared.left.meant.covers(entity: $0.entity, property: $0.name)
        }
    }

    /// Returns the ordered relationships whose order the migration does not keep, with the numbers of their lists.
    ///
    /// - Complexity: O(links of those relationships).
    func ordersNotKept(_ prepared: Prepared) throws(MigrationError) -> [OrdersNotKept] {
        try OrderLosses(
            layout: prepared.layout, mappings: prepared.mappings, reads: prepared.left.reads, census: prepared.census
        ).count(in: prepared.source).map { line in
            var line = line
            (line.isMeant, line.isAllowed) = marks(line.relationship, prepared)
            return line
        }
    }
}

extension ValueExpression {
    /// Returns the attributes of `$source` that the expression reads, by their names or paths.
    fileprivate func attributesRead(of entity: EntityDescription) -> Set<String> {
        Set(
            syntax.descendants.compactMap { node in
                guard case .expression(let node) = node, let path = node.sourceKeyPath else { return nil }
                return entity.joiningElements(in: path).first
            })
    }
}
