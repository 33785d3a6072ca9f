import CoreDataStore
import ManagedModel

/// Compares the expected links of one pair of relationships with the destination's columns and join tables, on both
/// sides. Both come in the same order and are merged.
struct LinkVerification {
    let scene: VerificationContext
    let pair: LinkPair
    /// The expected links by ascending key.
    let links: ExpectedLinks.Stream
    /// The links of a one-to-one pair by ascending value, with both ends exchanged.
    var exchanged: ExpectedLinks.Stream = { nil }
    /// False if the ordering keys cannot be worked out.
    var knowsOrder = true
    /// True if the expected links are those of a second run, which rejected the same objects.
    var isAgain = false

    private var schema: StoreSchema { scene.plan.destination.schema }
    private var storage: VerificationStorage { scene.storage }

    /// Compares the links.
    ///
    /// - Returns: the pair's line of the report.
    func run() throws -> VerificationReport.Relationship {
        var line = pair.line()
        var sums = (expected: VerificationChecksum(), found: VerificationChecksum())
        switch schema.storage(of: pair.near) {
        case .toOne(let table, let column, let entityColumn, let orderColumn):
            try columns(
                table, column, entityColumn, pair.far?.isOrdered == true ? orderColumn : nil, links, pair.near,
                &line, &sums)
            if pair.kind == .oneToOne, let far = pair.far,
                case .toOne(let table, let column, let entityColumn, _) = schema.storage(of: far)
            {
                try columns(table, column, entityColumn, nil, exchanged, far, &line, &sums)
            }
        case .toManyHidden(let table, let column, let orderColumn):
            try columns(
                table, column, nil, pair.near.isOrdered ? orderColumn : nil, links, pair.near, &line, &sums)
        case .join: try join(&line, &sums)
        case .toManyByInverse, .none: break
        }
        line.expectedChecksum = sums.expected.text
        line.foundChecksum = sums.found.text
        return line
    }

    private typealias Sums = (expected: VerificationChecksum, found: VerificationChecksum)

    static func hash(_ key: Int64?, _ order: Int64?) -> UInt64 {
        VerificationChecksum.mix(
            (key.map(VerificationChecksum.hash) ?? 1) ^ VerificationChecksum.mix(UInt64(bitPattern: order ?? -1)))
    }

    private func name(_ entity: EntityDescription, _ key: Int64?) throws -> String? {
        guard let key else { return nil }
        let maker = try storage.maker(table: schema.tableIndex(of: entity), key: key)
        if let maker { return scene.plan.objectID(maker, key) }
        return "\((isAgain ? entity : entity.root).definition.name)/p\(key)"
    }

    /// Compares links stored in a column, whose rows are the keys of the links.
    private func columns(
        _ table: Int, _ column: Int, _ entityColumn: Int?, _ orderColumn: Int?, _ links: ExpectedLinks.Stream,
        _ relationship: RelationshipDescription, _ line: inout VerificationReport.Relationship, _ sums: inout Sums
    ) throws {
        let isHidden = pair.kind == .hidden
        let holder = isHidden ? relationship.destination : relationship.entity
        let target = isHidden ? relationship.entity : relationship.destination
        let comparesOrder = orderColumn != nil && knowsOrder
        let slots = [column] + [entityColumn, orderColumn].compactMap { $0 }
        let rows = try scene.rows(of: scene.destination, scene.plan.destination, table: table, columns: slots)
        let orderSlot = slots.count - 1
        let holds = scene.plan.mappings.map { $0.destination?.isKindOf(entity: holder) ?? false }
        let relative = comparesOrder && scene.hasRejects ? RelativeOrder(storage) : nil
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
            if expected != nil { line.expectedLinks += 1 }
            if found != nil { line.foundLinks += 1 }
            sums.expected.add(key: key, Self.hash(expected, relative == nil ? places.expected : nil))
            sums.found.add(key: key, Self.hash(found, relative == nil ? places.found : nil))
            func difference(_ kind: VerificationReport.Kind, _ property: String, _ expected: String?, _ found: String?)
            {
                line.differing += 1
                scene.add(
                    kind, scene.plan.mappings[owner.mapping], key, source: owner.source, property, expected: expected,
                    found: found)
            }
            if expected != found {
                difference(.relationship, relationship.name, try name(target, expected), try name(target, found))
            } else if let expected {
                if entityColumn != nil {
                    let maker = try storage.maker(table: schema.tableIndex(of: target), key: expected)
                    let member = maker.flatMap { scene.plan.mappings[$0].destination }
                    let number = member.map { Int64(scene.plan.destination.fileNumber(ofEntity: $0.index)) }
                    if let number, rows.integer(1) != number {
                        difference(
                            .entity, relationship.name, "Z_ENT \(number) of \(try name(target, expected) ?? "")",
                            rows.integer(1).map { "Z_ENT \($0)" })
                    }
                }
                if let relative {
                    try relative.note(owner: expected, member: key, expected: places.expected, found: places.found)
                } else if comparesOrder, places.expected != places.found {
                    difference(
                        .order, isHidden ? relationship.name : pair.far?.name ?? relationship.name,
                        places.expected.map(String.init), places.found.map(String.init))
                }
            }
            try owners.advance()
        }
        let property = isHidden ? relationship.name : pair.far?.name ?? relationship.name
        try relative?.end { try misplaced($0, id: try name(holder, $0.member), property, &line) }
    }

    /// Adds a difference for a member in another place than expected.
    private func misplaced(
        _ member: RelativeOrder.Member, id: String?, _ property: String,
        _ line: inout VerificationReport.Relationship
    ) throws {
        line.differing += 1
        scene.findings.add(
            .order, id.map { String($0.prefix { $0 != "/" }) }, id, property: property,
            expected: member.expected.map { "in the order of \($0)" } ?? "no place",
            found: member.found.map(String.init))
    }

    /// Reads the links of a join table in the order of its keys, the near object's first.
    ///
    /// - Parameter empty: called with the near key of each link with an empty end, 0 if it has none.
    static func found(
        _ pair: LinkPair, _ store: SourceStore, _ layout: StoreLayout, _ storage: VerificationStorage,
        empty: (Int64) throws -> Void = { _ in }
    ) throws -> RecordStream<ExpectedLink> {
        let links = storage.sort(ExpectedLink.self)
        guard case .join(let table, let side) = layout.schema.storage(of: pair.near) else { return try links.finish() }
        let join = layout.joinTables[table]
        let (near, far) = (join.sides[side], join.sides[1 - side])
        let nearOrder = pair.near.isOrdered ? far.orderColumn : nil
        let farOrder = pair.far?.isOrdered == true && !pair.isReflexive ? near.orderColumn : nil
        let columns = [near.column, far.column, nearOrder, farOrder].map { $0.map(SQLName.quoted) ?? "NULL" }
        let rows = try store.query(
            "SELECT \(columns.joined(separator: ", ")) FROM \(SQLName.quoted(join.name)) NOT INDEXED")
        while try rows.step() {
            guard !rows.isNull(0), !rows.isNull(1) else {
                try empty(rows.integer(0))
                continue
            }
            try links.append(
                ExpectedLink(
                    key: rows.integer(0), value: rows.integer(1), nearOrder: rows.isNull(2) ? nil : rows.integer(2),
                    farOrder: rows.isNull(3) ? nil : rows.integer(3), turn: 0))
        }
        return try links.finish()
    }

    /// Compares links stored in a join table: both columns and both ordering keys.
    private func join(_ line: inout VerificationReport.Relationship, _ sums: inout Sums) throws {
        let (owners, members) = (pair.near.entity, pair.near.destination)
        let ends = (schema.tableIndex(of: owners), schema.tableIndex(of: members))
        let relative =
            knowsOrder && scene.hasRejects && !isAgain ? (RelativeOrder(storage), RelativeOrder(storage)) : nil
        func difference(
            _ kind: VerificationReport.Kind, _ owner: Int64, _ expected: String?, _ found: String?
        ) throws {
            line.differing += 1
            let id = try name(owners, owner)
            scene.findings.add(
                kind, id.map { String($0.prefix { $0 != "/" }) }, id, property: pair.near.name, expected: expected,
                found: found)
        }
        let found = try Self.found(pair, scene.destination, scene.plan.destination, storage) { owner in
            line.foundLinks += 1
            try difference(.dangling, owner, nil, "a link with an empty end")
        }
        var next = try links()
        var last: (Int64, Int64)?
        func missing(_ link: ExpectedLink) throws {
            line.expectedLinks += 1
            sums.expected.add(key: link.key, Self.hash(link.value, link.nearOrder))
            try difference(.relationship, link.key, try name(members, link.value), nil)
        }
        func extra(_ link: ExpectedLink) throws {
            guard !scene.isOlder(table: ends.0, key: link.key) || !scene.isOlder(table: ends.1, key: link.value) else {
                return
            }
            line.foundLinks += 1
            sums.found.add(key: link.key, Self.hash(link.value, link.nearOrder))
            try difference(.relationship, link.key, nil, try name(members, link.value))
        }
        func compare(_ wanted: ExpectedLink, _ link: ExpectedLink) throws {
            line.expectedLinks += 1
            line.foundLinks += 1
            var expected = knowsOrder ? (wanted.nearOrder, wanted.farOrder) : (nil, nil)
            var found = knowsOrder ? (link.nearOrder, link.farOrder) : (nil, nil)
            if let relative {
                try relative.0.note(owner: link.key, member: link.value, expected: expected.0, found: found.0)
                try relative.1.note(owner: link.value, member: link.key, expected: expected.1, found: found.1)
                (expected, found) = ((nil, nil), (nil, nil))
            }
            sums.expected.add(
                key: link.key, Self.hash(link.value, expected.0) &+ UInt64(bitPattern: expected.1 ?? 0))
            sums.found.add(key: link.key, Self.hash(link.value, found.0) &+ UInt64(bitPattern: found.1 ?? 0))
            guard expected != found else { return }
            let member = try name(members, link.value) ?? ""
            func shown(_ places: (Int64?, Int64?)) -> String {
                "\(member) at \(places.0.map(String.init) ?? "no place"), \(places.1.map(String.init) ?? "no place")"
            }
            try difference(.order, link.key, shown(expected), shown(found))
        }
        while next != nil || found.current != nil {
            if let wanted = next, found.current.map({ (wanted.key, wanted.value) < ($0.key, $0.value) }) ?? true {
                try missing(wanted)
                next = try links()
                continue
            }
            guard let link = try found.next() else { break }
            if let last, last == (link.key, link.value) {
                line.foundLinks += 1
                sums.found.add(key: link.key, Self.hash(link.value, nil))
                try difference(.relationship, link.key, "one link", "\(try name(members, link.value) ?? "") twice")
            } else if let wanted = next, (wanted.key, wanted.value) == (link.key, link.value) {
                try compare(wanted, link)
                next = try links()
            } else {
                try extra(link)
            }
            last = (link.key, link.value)
        }
        try relative?.0.end { try misplaced($0, id: try name(owners, $0.owner), pair.near.name, &line) }
        try relative?.1.end {
            try misplaced($0, id: try name(members, $0.owner), pair.far?.name ?? pair.near.name, &line)
        }
    }
}
