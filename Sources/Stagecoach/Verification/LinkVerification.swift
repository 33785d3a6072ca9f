import CoreDataStore
import ManagedModel

/// Compares the expected links of one pair of relationships with the destination's columns and join tables, on both
/// sides. Both come in the same order and are merged.
struct LinkVerification {
    let scene: VerificationContext
    let pair: LinkPair
    let expected: ExpectedLinks

    private var schema: StoreSchema { scene.plan.destination.schema }
    private var storage: VerificationStorage { scene.storage }
    private var knowsOrder: Bool { expected.knowsOrder }

    /// Compares the links.
    ///
    /// - Returns: the pair's line of the report.
    func run() throws -> VerificationReport.Relationship {
        var line = pair.line()
        var sums = (expected: VerificationChecksum(), found: VerificationChecksum())
        switch schema.storage(of: pair.near) {
        case .toOne(let table, let column, let entityColumn, let orderColumn):
            try columns(
                table, column, entityColumn, pair.far?.isOrdered == true ? orderColumn : nil, expected.links, pair.near,
                &line, &sums)
            if pair.kind == .oneToOne, let far = pair.far,
                case .toOne(let table, let column, let entityColumn, _) = schema.storage(of: far)
            {
                try columns(table, column, entityColumn, nil, expected.exchanged, far, &line, &sums)
            }
        case .toManyHidden(let table, let column, let orderColumn):
            try columns(
                table, column, nil, pair.near.isOrdered ? orderColumn : nil, expected.links, pair.near, &line, &sums)
        case .join(let table, let side): try join(table, side, &line, &sums)
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

    private func name(_ table: Int, _ key: Int64?) throws -> String? {
        guard let key else { return nil }
        if let maker = try storage.maker(table: table, key: key) { return scene.plan.objectID(maker, key) }
        let entity = schema.model.entity(at: schema.tables[table].root).definition.name
        return "\(entity)/p\(key)"
    }

    /// Compares links stored in a column, whose rows are the keys of the links.
    private func columns(
        _ table: Int, _ column: Int, _ entityColumn: Int?, _ orderColumn: Int?, _ links: ExpectedLinks.Stream,
        _ relationship: RelationshipDescription, _ line: inout VerificationReport.Relationship, _ sums: inout Sums
    ) throws {
        let isHidden = pair.kind == .hidden
        let holder = isHidden ? relationship.destination : relationship.entity
        let target = schema.tableIndex(of: isHidden ? relationship.entity : relationship.destination)
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
                let mapping = scene.plan.mappings[owner.mapping]
                line.differing += 1
                scene.findings.add(
                    .init(
                        kind: kind, entity: mapping.destination?.definition.name,
                        objectID: scene.plan.objectID(mapping.index, key), property: property, expected: expected,
                        found: found, sourceID: mapping.sourceID(owner.source), mapping: mapping.name))
            }
            if expected != found {
                difference(.relationship, relationship.name, try name(target, expected), try name(target, found))
            } else if let expected {
                if entityColumn != nil {
                    let maker = try storage.maker(table: target, key: expected)
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
        try relative?.end { try misplaced($0, id: try name(table, $0.member), property, &line) }
    }

    /// Adds a difference for a member in another place than expected.
    private func misplaced(
        _ member: RelativeOrder.Member, id: String?, _ property: String,
        _ line: inout VerificationReport.Relationship
    ) throws {
        line.differing += 1
        scene.findings.add(
            .init(
                kind: .order, entity: id.map { String($0.prefix { $0 != "/" }) }, objectID: id, property: property,
                expected: member.expected.map { "in the order of \($0)" } ?? "no place",
                found: member.found.map(String.init)))
    }

    /// Reads the links of a join table in the order of its keys. Rows with an empty end are left out.
    private func found(_ table: Int, _ side: Int) throws -> (links: RecordStream<FoundLink>, hasEmptyEnds: Bool) {
        let rows = try scene.destination.query(joinQuery(table, side))
        let links = storage.sort(FoundLink.self)
        var hasEmptyEnds = false
        var count = 0
        while try rows.step() {
            count += 1
            if count % 1024 == 0 { try scene.checkCancelled() }
            guard !rows.isNull(0), !rows.isNull(1) else {
                hasEmptyEnds = true
                continue
            }
            try links.append(
                FoundLink(
                    near: rows.integer(0), far: rows.integer(1), nearOrder: rows.isNull(2) ? nil : rows.integer(2),
                    farOrder: rows.isNull(3) ? nil : rows.integer(3)))
        }
        return (try links.finish(), hasEmptyEnds)
    }

    private func joinQuery(_ table: Int, _ side: Int) -> String {
        let actual = scene.plan.destination.joinTables[table]
        let (near, far) = (actual.sides[side], actual.sides[1 - side])
        let nearOrder = pair.near.isOrdered ? far.orderColumn.map(SQLName.quoted) ?? "NULL" : "NULL"
        let farOrder =
            pair.far?.isOrdered == true && !pair.isReflexive ? near.orderColumn.map(SQLName.quoted) ?? "NULL" : "NULL"
        let keys = "\(SQLName.quoted(near.column)), \(SQLName.quoted(far.column))"
        return "SELECT \(keys), \(nearOrder), \(farOrder) FROM \(SQLName.quoted(actual.name)) NOT INDEXED"
    }

    /// Compares links stored in a join table: both columns and both ordering keys.
    private func join(
        _ table: Int, _ side: Int, _ line: inout VerificationReport.Relationship, _ sums: inout Sums
    ) throws {
        let ends = (schema.tableIndex(of: pair.near.entity), schema.tableIndex(of: pair.near.destination))
        let relative = knowsOrder && scene.hasRejects ? (RelativeOrder(storage), RelativeOrder(storage)) : nil
        let (links, hasEmptyEnds) = try found(table, side)
        let sides = scene.plan.destination.joinTables[table].sides
        let (near, far) = (SQLName.quoted(sides[side].column), SQLName.quoted(sides[1 - side].column))
        let emptyEnds =
            hasEmptyEnds
            ? try scene.destination.query(
                "\(joinQuery(table, side)) WHERE \(near) IS NULL OR \(far) IS NULL ORDER BY \(near), \(far)")
            : nil
        var hasEmpty = try emptyEnds?.step() ?? false
        var next = try expected.links()
        var last: (Int64, Int64)?
        func difference(
            _ kind: VerificationReport.Kind, _ owner: Int64, _ expected: String?, _ found: String?
        ) throws {
            line.differing += 1
            let id = try name(ends.0, owner)
            scene.findings.add(
                .init(
                    kind: kind, entity: id.map { String($0.prefix { $0 != "/" }) }, objectID: id,
                    property: pair.near.name,
                    expected: expected, found: found))
        }
        func missing(_ link: ExpectedLink) throws {
            line.expectedLinks += 1
            sums.expected.add(key: link.key, Self.hash(link.value, link.nearOrder))
            try difference(.relationship, link.key, try name(ends.1, link.value), nil)
        }
        func extra(_ link: FoundLink) throws {
            guard !scene.isOlder(table: ends.0, key: link.near) || !scene.isOlder(table: ends.1, key: link.far) else {
                return
            }
            line.foundLinks += 1
            sums.found.add(key: link.near, Self.hash(link.far, link.nearOrder))
            try difference(.relationship, link.near, nil, try name(ends.1, link.far))
        }
        func compare(_ wanted: ExpectedLink, _ link: FoundLink) throws {
            line.expectedLinks += 1
            line.foundLinks += 1
            var expected = knowsOrder ? (wanted.nearOrder, wanted.farOrder) : (nil, nil)
            var found = knowsOrder ? (link.nearOrder, link.farOrder) : (nil, nil)
            if let relative {
                try relative.0.note(owner: link.near, member: link.far, expected: expected.0, found: found.0)
                try relative.1.note(owner: link.far, member: link.near, expected: expected.1, found: found.1)
                (expected, found) = ((nil, nil), (nil, nil))
            }
            sums.expected.add(
                key: link.near, Self.hash(link.far, expected.0) &+ UInt64(bitPattern: expected.1 ?? 0))
            sums.found.add(key: link.near, Self.hash(link.far, found.0) &+ UInt64(bitPattern: found.1 ?? 0))
            guard expected != found else { return }
            let member = try name(ends.1, link.far) ?? ""
            func shown(_ places: (Int64?, Int64?)) -> String {
                "\(member) at \(places.0.map(String.init) ?? "no place"), \(places.1.map(String.init) ?? "no place")"
            }
            try difference(.order, link.near, shown(expected), shown(found))
        }
        while links.current != nil || next != nil || hasEmpty {
            let link = links.current
            if hasEmpty, let row = emptyEnds, link == nil || row.isNull(0) || row.integer(0) <= link?.near ?? .max {
                line.foundLinks += 1
                try difference(.dangling, row.integer(0), nil, "a link with an empty end")
                hasEmpty = try row.step()
                continue
            }
            guard let link else {
                if let wanted = next { try missing(wanted) }
                next = try expected.links()
                continue
            }
            if let before = last, before == (link.near, link.far) {
                line.foundLinks += 1
                sums.found.add(key: link.near, Self.hash(link.far, nil))
                try difference(.relationship, link.near, "one link", "\(try name(ends.1, link.far) ?? "") twice")
            } else if let wanted = next, (wanted.key, wanted.value) < (link.near, link.far) {
                try missing(wanted)
                next = try expected.links()
                continue
            } else {
                last = (link.near, link.far)
                if let wanted = next, (wanted.key, wanted.value) == (link.near, link.far) {
                    try compare(wanted, link)
                    next = try expected.links()
                } else {
                    try extra(link)
                }
            }
            try links.advance()
        }
        try relative?.0.end { try misplaced($0, id: try name(ends.0, $0.owner), pair.near.name, &line) }
        try relative?.1.end {
            try misplaced($0, id: try name(ends.1, $0.owner), pair.far?.name ?? pair.near.name, &line)
        }
    }
}
