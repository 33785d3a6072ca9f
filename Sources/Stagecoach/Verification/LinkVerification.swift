import CoreDataStore
import Diagnostics
import ManagedModel

/// Compares the expected links of one pair of relationships with the destination's columns and join tables, on both
/// sides. Both come in the same order and are merged.
struct LinkVerification {
    let context: VerificationContext
    let pair: LinkPair
    /// The expected links by ascending key.
    let links: ExpectedLinks.Stream
    /// The links of a one-to-one pair by ascending value, with both ends exchanged.
    var exchanged: ExpectedLinks.Stream = { nil }
    /// False if the ordering keys cannot be worked out.
    var knowsOrder = true
    /// True if the expected links are those of a second run, which rejected the same objects.
    var isAgain = false

    private var schema: StoreSchema { context.plan.destination.schema }
    private var storage: VerificationStorage { context.storage }

    /// The pair's line of the report, and the sums over its links, as far as they have been compared.
    private struct Tally {
        var line: VerificationReport.Relationship
        var expected = VerificationChecksum()
        var found = VerificationChecksum()
    }

    /// Compares the links. Returns the pair's line of the report.
    func run() throws -> VerificationReport.Relationship {
        var tally = Tally(line: pair.line())
        switch schema.storage(of: pair.near) {
        case .toOne(let table, let column, let entityColumn, let orderColumn):
            try columns(
                table, column, entityColumn, pair.far?.isOrdered == true ? orderColumn : nil, links, pair.near, &tally)
            if pair.kind == .oneToOne, let far = pair.far,
                case .toOne(let table, let column, let entityColumn, _) = schema.storage(of: far)
            {
                try columns(table, column, entityColumn, nil, exchanged, far, &tally)
            }
        case .toManyHidden(let table, let column, let orderColumn):
            try columns(table, column, nil, pair.near.isOrdered ? orderColumn : nil, links, pair.near, &tally)
        case .join(let table, let side): try join(table, side, &tally)
        case .toManyByInverse, .none: break
        }
        tally.line.expectedChecksum = tally.expected.text
        tally.line.foundChecksum = tally.found.text
        return tally.line
    }

    static func hash(_ key: Int64?, _ order: Int64?) -> UInt64 {
        VerificationChecksum.mix(
            (key.map(VerificationChecksum.hash) ?? 1) ^ VerificationChecksum.mix(UInt64(bitPattern: order ?? -1)))
    }

    private func name(_ entity: EntityDescription, _ key: Int64?) throws -> String? {
        guard let key else { return nil }
        let maker = try storage.maker(table: schema.tableIndex(of: entity), key: key)
        if let maker { return context.plan.objectID(maker, key) }
        return "\((isAgain ? entity : entity.root).definition.name)/p\(key)"
    }

    /// Compares links stored in a column, whose rows are the keys of the links.
    private func columns(
        _ table: Int, _ column: Int, _ entityColumn: Int?, _ orderColumn: Int?, _ links: ExpectedLinks.Stream,
        _ relationship: RelationshipDescription, _ tally: inout Tally
    ) throws {
        let isHidden = pair.kind == .hidden
        let holder = isHidden ? relationship.destination : relationship.entity
        let target = isHidden ? relationship.entity : relationship.destination
        let comparesOrder = orderColumn != nil && knowsOrder
        let slots = [column] + [entityColumn, orderColumn].compactMap { $0 }
        let rows = try context.rows(of: context.destination, context.plan.destination, table: table, columns: slots)
        let orderSlot = slots.count - 1
        let holds = context.plan.mappings.map { $0.destination?.isKindOf(entity: holder) ?? false }
        let relative = try comparesOrder && context.hasRejects ? storage.linkTables() : nil
        var owners = try storage.rows(ofTable: table)
        var next = try links()
        while let owner = owners.current {
            let key = owner.key
            while let link = next, link.key < key { next = try links() }
            let link = next?.key == key ? next : nil
            guard try rows.advance(to: key), holds[owner.mapping] else {
                try owners.advance()
                continue
            }
            let expected = link?.value
            let found = rows.integer(0)
            let places: (expected: Int64?, found: Int64?) =
                comparesOrder ? (isHidden ? link?.nearOrder : link?.farOrder, rows.integer(orderSlot)) : (nil, nil)
            if expected != nil { tally.line.expectedLinks += 1 }
            if found != nil { tally.line.foundLinks += 1 }
            tally.expected.add(key: key, Self.hash(expected, relative == nil ? places.expected : nil))
            tally.found.add(key: key, Self.hash(found, relative == nil ? places.found : nil))
            func difference(_ kind: VerificationReport.Kind, _ property: String, _ expected: String?, _ found: String?)
            {
                tally.line.differing += 1
                context.add(
                    kind, context.plan.mappings[owner.mapping], key, source: owner.source, property, expected: expected,
                    found: found)
            }
            if expected != found {
                difference(.relationship, relationship.name, try name(target, expected), try name(target, found))
            } else if let expected {
                if entityColumn != nil {
                    let maker = try storage.maker(table: schema.tableIndex(of: target), key: expected)
                    let member = maker.flatMap { context.plan.mappings[$0].destination }
                    let number = member.map { Int64(context.plan.destination.fileNumber(ofEntity: $0.index)) }
                    if let number, rows.integer(1) != number {
                        difference(
                            .entity, relationship.name, "Z_ENT \(number) of \(try name(target, expected) ?? "")",
                            rows.integer(1).map { "Z_ENT \($0)" })
                    }
                }
                if let relative {
                    try relative.note(
                        side: 0, owner: expected, member: key, expected: places.expected, found: places.found)
                } else if comparesOrder, places.expected != places.found {
                    difference(
                        .order, isHidden ? relationship.name : pair.far?.name ?? relationship.name,
                        places.expected.map(String.init), places.found.map(String.init))
                }
            }
            try owners.advance()
        }
        let property = isHidden ? relationship.name : pair.far?.name ?? relationship.name
        try relative?.forEachMisplaced(side: 0) { _, member, expected, found in
            try differ(.order, member, expected, found, of: holder, property: property, &tally)
        }
    }

    // MARK: - Join tables

    /// Returns the rows of the pair's join table that have an end, or both, and no other: near key, far key and both places.
    private static func query(
        _ pair: LinkPair, _ layout: StoreLayout, _ table: Int, _ side: Int, where condition: String
    ) -> String {
        let join = layout.joinTables[table]
        let (near, far) = (join.sides[side], join.sides[1 - side])
        let nearOrder = pair.near.isOrdered ? far.orderColumn : nil
        let farOrder = pair.far?.isOrdered == true && !pair.isReflexive ? near.orderColumn : nil
        let columns = [near.column, far.column, nearOrder, farOrder].map { $0.map(SQLName.quoted) ?? "NULL" }
        return "SELECT \(columns.joined(separator: ", ")) FROM \(SQLName.quoted(join.name)) NOT INDEXED "
            + "WHERE \(columns[0]) \(condition) \(columns[1]) IS NULL ORDER BY 1, 2, 3, 4"
    }

    /// Reads the links of a join table in the order of its keys, the near object's first.
    static func found(
        _ pair: LinkPair, _ store: SourceStore, _ layout: StoreLayout
    ) throws(MigrationError) -> ExpectedLinks.Stream {
        guard case .join(let table, let side) = layout.schema.storage(of: pair.near) else { return { nil } }
        let rows = try store.query(query(pair, layout, table, side, where: "IS NOT NULL AND NOT"))
        return { try rows.nextLink() }
    }

    /// Compares links stored in a join table: both columns and both ordering keys.
    private func join(_ table: Int, _ side: Int, _ tally: inout Tally) throws {
        let empty = try context.destination.query(
            Self.query(pair, context.plan.destination, table, side, where: "IS NULL OR"))
        while try empty.step() {
            tally.line.foundLinks += 1
            try differ(.dangling, empty.integer(0), nil, "a link with an empty end", &tally)
        }
        let relative = try knowsOrder && context.hasRejects && !isAgain ? storage.linkTables() : nil
        let found = try Self.found(pair, context.destination, context.plan.destination)
        var (wanted, there) = (try links(), try found())
        var last: (Int64, Int64)?
        while wanted != nil || there != nil {
            if let link = wanted, there.map({ (link.key, link.value) < ($0.key, $0.value) }) ?? true {
                tally.line.expectedLinks += 1
                tally.expected.add(key: link.key, Self.hash(link.value, link.nearOrder))
                try differ(.relationship, link.key, try name(pair.near.destination, link.value), nil, &tally)
                wanted = try links()
                continue
            }
            guard let link = there else { break }
            if let last, last == (link.key, link.value) {
                tally.line.foundLinks += 1
                tally.found.add(key: link.key, Self.hash(link.value, nil))
                let member = try name(pair.near.destination, link.value) ?? ""
                try differ(.relationship, link.key, "one link", "\(member) twice", &tally)
            } else if let expected = wanted, (expected.key, expected.value) == (link.key, link.value) {
                try compare(expected, link, relative, &tally)
                wanted = try links()
            } else {
                try extra(link, &tally)
            }
            last = (link.key, link.value)
            there = try found()
        }
        for (side, end) in [pair.near, pair.far ?? pair.near].enumerated() {
            let entity = side == 0 ? end.entity : pair.near.destination
            try relative?.forEachMisplaced(side: Int64(side)) { owner, _, expected, found in
                try differ(.order, owner, expected, found, of: entity, property: end.name, &tally)
            }
        }
    }

    /// Adds a difference of an object, a near one unless another entity is given.
    private func differ(
        _ kind: VerificationReport.Kind, _ key: Int64, _ expected: String?, _ found: String?,
        of entity: EntityDescription? = nil, property: String? = nil, _ tally: inout Tally
    ) throws {
        tally.line.differing += 1
        let id = try name(entity ?? pair.near.entity, key)
        context.findings.add(
            kind, id.map { String($0.prefix { $0 != "/" }) }, id, property: property ?? pair.near.name,
            expected: expected, found: found)
    }

    /// Adds a link that is not expected, unless both its ends are older than an append.
    private func extra(_ link: ExpectedLink, _ tally: inout Tally) throws {
        let ends = (schema.tableIndex(of: pair.near.entity), schema.tableIndex(of: pair.near.destination))
        guard !context.isOlder(table: ends.0, key: link.key) || !context.isOlder(table: ends.1, key: link.value) else {
            return
        }
        tally.line.foundLinks += 1
        tally.found.add(key: link.key, Self.hash(link.value, link.nearOrder))
        try differ(.relationship, link.key, nil, try name(pair.near.destination, link.value), &tally)
    }

    /// Compares the places of a link that is there.
    private func compare(
        _ wanted: ExpectedLink, _ link: ExpectedLink, _ relative: LinkTables?, _ tally: inout Tally
    ) throws {
        tally.line.expectedLinks += 1
        tally.line.foundLinks += 1
        var expected = knowsOrder ? (wanted.nearOrder, wanted.farOrder) : (nil, nil)
        var found = knowsOrder ? (link.nearOrder, link.farOrder) : (nil, nil)
        if let relative {
            try relative.note(side: 0, owner: link.key, member: link.value, expected: expected.0, found: found.0)
            try relative.note(side: 1, owner: link.value, member: link.key, expected: expected.1, found: found.1)
            (expected, found) = ((nil, nil), (nil, nil))
        }
        func hash(_ places: (Int64?, Int64?)) -> UInt64 {
            Self.hash(link.value, places.0) &+ UInt64(bitPattern: places.1 ?? 0)
        }
        tally.expected.add(key: link.key, hash(expected))
        tally.found.add(key: link.key, hash(found))
        guard expected != found else { return }
        let member = try name(pair.near.destination, link.value) ?? ""
        func shown(_ places: (Int64?, Int64?)) -> String {
            "\(member) at \(places.0.map(String.init) ?? "no place"), \(places.1.map(String.init) ?? "no place")"
        }
        try differ(.order, link.key, shown(expected), shown(found), &tally)
    }
}
