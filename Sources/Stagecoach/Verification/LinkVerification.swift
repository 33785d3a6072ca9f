import CoreDataStore
import Diagnostics
import ManagedModel

/// Compares the expected links of one pair of relationships with the destination's columns and join tables, on both
/// sides.
struct LinkVerification {
    let scene: VerificationContext
    let pair: LinkPair
    let knowsOrder: Bool

    private var schema: StoreSchema { scene.plan.destination.schema }
    private var ledger: VerificationLedger { scene.ledger }

    /// Compares the links.
    ///
    /// - Returns: the pair's line of the report.
    func run() throws -> VerificationReport.Relationship {
        var line = VerificationReport.Relationship(
            entity: pair.near.entity.definition.name, name: pair.near.name,
            inverse: pair.far.map { "\($0.entity.definition.name).\($0.name)" }, isRecomputed: true, expectedLinks: 0,
            foundLinks: 0, expectedChecksum: "", foundChecksum: "", differing: 0)
        var sums = (expected: VerificationChecksum(), found: VerificationChecksum())
        switch schema.storage(of: pair.near) {
        case .toOne(let table, let column, let entityColumn, let orderColumn):
            try columns(
                table, column, entityColumn, pair.far?.isOrdered == true ? orderColumn : nil, own: "a", other: "b",
                order: "ob", pair.near, &line, &sums)
            if pair.kind == .oneToOne, let far = pair.far,
                case .toOne(let table, let column, let entityColumn, _) = schema.storage(of: far)
            {
                try columns(
                    table, column, entityColumn, nil, own: "b", other: "a", order: "oa", far, &line, &sums)
            }
        case .toManyHidden(let table, let column, let orderColumn):
            try columns(
                table, column, nil, pair.near.isOrdered ? orderColumn : nil, own: "b", other: "a", order: "oa",
                pair.near, &line, &sums)
        case .join(let table, let side): try join(table, side, &line, &sums)
        case .toManyByInverse, .none: break
        }
        line.expectedChecksum = sums.expected.text
        line.foundChecksum = sums.found.text
        return line
    }

    private typealias Sums = (expected: VerificationChecksum, found: VerificationChecksum)

    private static func hash(_ key: Int64?, _ order: Int64?) -> UInt64 {
        VerificationChecksum.mix(
            (key.map(VerificationChecksum.hash) ?? 1) ^ VerificationChecksum.mix(UInt64(bitPattern: order ?? -1)))
    }

    private func name(_ table: Int, _ key: Int64?) throws -> String? {
        guard let key else { return nil }
        let maker = try ledger.integer("SELECT m FROM t\(table) WHERE d=?1", key)
        if let maker { return scene.plan.objectID(Int(maker), key) }
        let entity = schema.model.entity(at: schema.tables[table].root).definition.name
        return "\(entity)/p\(key)"
    }

    /// Compares links stored in a column. The `own` end is the table's row, the `other` end is the key in the column.
    private func columns(
        _ table: Int, _ column: Int, _ entityColumn: Int?, _ orderColumn: Int?, own: String, other: String,
        order: String, _ relationship: RelationshipDescription, _ line: inout VerificationReport.Relationship,
        _ sums: inout Sums
    ) throws {
        let actual = scene.plan.destination.tables[table]
        let isHidden = pair.kind == .hidden
        let holder = isHidden ? relationship.destination : relationship.entity
        let target = schema.tableIndex(of: isHidden ? relationship.entity : relationship.destination)
        func quoted(_ column: Int?) -> String { column.map { SQLName.quoted(actual.columns[$0]) } ?? "NULL" }
        let rows = try scene.destination.query(
            "SELECT Z_PK, \(quoted(column)), \(quoted(entityColumn)), \(quoted(orderColumn)) FROM \(SQLName.quoted(actual.name)) NOT INDEXED ORDER BY Z_PK"
        )
        let wanted = try ledger.connection.prepare(
            """
            SELECT t.d, t.m, l.\(other), l.\(order), o.m, t.s FROM t\(table) t LEFT JOIN \(pair.table) l ON l.\(own) = t.d
            LEFT JOIN t\(target) o ON o.d = l.\(other) ORDER BY t.d
            """)
        let relative =
            orderColumn != nil && knowsOrder && scene.hasRejects ? try RelativeOrder(ledger, table: "places") : nil
        var hasRow = try rows.step()
        var count = 0
        while try wanted.step() {
            count += 1
            if count % 1024 == 0 { try scene.checkCancelled() }
            let key = wanted.integer(0)
            while hasRow, rows.integer(0) < key { hasRow = try rows.step() }
            let mapping = scene.plan.mappings[Int(wanted.integer(1))]
            guard hasRow, rows.integer(0) == key, let entity = mapping.destination, entity.isKindOf(entity: holder)
            else { continue }
            func value(_ statement: Statement, _ column: Int32) -> Int64? {
                statement.isNull(column) ? nil : statement.integer(column)
            }
            let expected = value(wanted, 2)
            let found = value(rows, 1)
            let comparesOrder = orderColumn != nil && knowsOrder
            let places = comparesOrder ? (value(wanted, 3), value(rows, 3)) : (nil, nil)
            if expected != nil { line.expectedLinks += 1 }
            if found != nil { line.foundLinks += 1 }
            sums.expected.add(key: key, Self.hash(expected, relative == nil ? places.0 : nil))
            sums.found.add(key: key, Self.hash(found, relative == nil ? places.1 : nil))
            func difference(_ kind: VerificationReport.Kind, _ property: String, _ expected: String?, _ found: String?)
            {
                line.differing += 1
                scene.findings.add(
                    .init(
                        kind: kind, entity: entity.definition.name, objectID: scene.plan.objectID(mapping.index, key),
                        property: property, expected: expected, found: found,
                        sourceID: mapping.sourceID(wanted.integer(5)), mapping: mapping.name))
            }
            if expected != found {
                difference(.relationship, relationship.name, try name(target, expected), try name(target, found))
            } else if let expected {
                if entityColumn != nil {
                    let member = wanted.isNull(4) ? nil : scene.plan.mappings[Int(wanted.integer(4))].destination
                    let number = member.map { Int64(scene.plan.destination.fileNumber(ofEntity: $0.index)) }
                    if let number, value(rows, 2) != number {
                        difference(
                            .entity, relationship.name, "Z_ENT \(number) of \(try name(target, expected) ?? "")",
                            value(rows, 2).map { "Z_ENT \($0)" })
                    }
                }
                if let relative {
                    try relative.note(owner: expected, member: key, expected: places.0, found: places.1)
                } else if comparesOrder, places.0 != places.1 {
                    difference(
                        .order, isHidden ? relationship.name : pair.far?.name ?? relationship.name,
                        places.0.map(String.init), places.1.map(String.init))
                }
            }
        }
        let property = isHidden ? relationship.name : pair.far?.name ?? relationship.name
        try relative?.end { try misplaced($0, id: try name(table, $0.member), property, &line) }
    }

    /// Adds a difference for a member in another place than expected.
    private func misplaced(
        _ member: RelativeOrder.Misplaced, id: String?, _ property: String,
        _ line: inout VerificationReport.Relationship
    ) throws {
        line.differing += 1
        scene.findings.add(
            .init(
                kind: .order, entity: id.map { String($0.prefix { $0 != "/" }) }, objectID: id, property: property,
                expected: member.expected.map { "in the order of \($0)" } ?? "no place",
                found: member.found.map(String.init)))
    }

    /// Compares links stored in a join table: both columns and both ordering keys.
    private func join(
        _ table: Int, _ side: Int, _ line: inout VerificationReport.Relationship, _ sums: inout Sums
    ) throws {
        let actual = scene.plan.destination.joinTables[table]
        let (nearSide, farSide) = (actual.sides[side], actual.sides[1 - side])
        let orderA = pair.near.isOrdered ? farSide.orderColumn.map(SQLName.quoted) ?? "NULL" : "NULL"
        let orderB =
            pair.far?.isOrdered == true && !pair.isReflexive
            ? nearSide.orderColumn.map(SQLName.quoted) ?? "NULL" : "NULL"
        let (a, b) = (SQLName.quoted(nearSide.column), SQLName.quoted(farSide.column))
        let rows = try scene.destination.query(
            "SELECT \(a), \(b), \(orderA), \(orderB) FROM \(SQLName.quoted(actual.name)) NOT INDEXED ORDER BY \(a), \(b)"
        )
        let wanted = try ledger.connection.prepare("SELECT a, b, oa, ob FROM \(pair.table) ORDER BY a, b")
        let ends = (schema.tableIndex(of: pair.near.entity), schema.tableIndex(of: pair.near.destination))
        let relative =
            knowsOrder && scene.hasRejects
            ? (try RelativeOrder(ledger, table: "placesA"), try RelativeOrder(ledger, table: "placesB")) : nil
        var hasRow = try rows.step()
        var hasWanted = try wanted.step()
        var last: (Int64, Int64)?
        var count = 0
        func optional(_ statement: Statement, _ column: Int32) -> Int64? {
            statement.isNull(column) ? nil : statement.integer(column)
        }
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
        while hasRow || hasWanted {
            count += 1
            if count % 1024 == 0 { try scene.checkCancelled() }
            let link = hasRow ? (rows.integer(0), rows.integer(1)) : (Int64.max, Int64.max)
            let next = hasWanted ? (wanted.integer(0), wanted.integer(1)) : (Int64.max, Int64.max)
            if hasRow, rows.isNull(0) || rows.isNull(1) {
                line.foundLinks += 1
                try difference(.dangling, rows.integer(0), nil, "a link with an empty end")
                hasRow = try rows.step()
            } else if hasRow, let before = last, before == link {
                line.foundLinks += 1
                sums.found.add(key: link.0, Self.hash(link.1, nil))
                try difference(.relationship, link.0, "one link", "\(try name(ends.1, link.1) ?? "") twice")
                hasRow = try rows.step()
            } else if hasWanted, !hasRow || next < link {
                line.expectedLinks += 1
                sums.expected.add(key: next.0, Self.hash(next.1, optional(wanted, 2)))
                try difference(.relationship, next.0, try name(ends.1, next.1), nil)
                hasWanted = try wanted.step()
            } else if hasRow, !hasWanted || link < next {
                last = link
                if !scene.isOlder(table: ends.0, key: link.0) || !scene.isOlder(table: ends.1, key: link.1) {
                    line.foundLinks += 1
                    sums.found.add(key: link.0, Self.hash(link.1, optional(rows, 2)))
                    try difference(.relationship, link.0, nil, try name(ends.1, link.1))
                }
                hasRow = try rows.step()
            } else {
                last = link
                line.expectedLinks += 1
                line.foundLinks += 1
                var expected = knowsOrder ? (optional(wanted, 2), optional(wanted, 3)) : (nil, nil)
                var found = knowsOrder ? (optional(rows, 2), optional(rows, 3)) : (nil, nil)
                if let relative {
                    try relative.0.note(owner: link.0, member: link.1, expected: expected.0, found: found.0)
                    try relative.1.note(owner: link.1, member: link.0, expected: expected.1, found: found.1)
                    (expected, found) = ((nil, nil), (nil, nil))
                }
                sums.expected.add(key: link.0, Self.hash(link.1, expected.0) &+ UInt64(bitPattern: expected.1 ?? 0))
                sums.found.add(key: link.0, Self.hash(link.1, found.0) &+ UInt64(bitPattern: found.1 ?? 0))
                if expected != found {
                    let member = try name(ends.1, link.1) ?? ""
                    func shown(_ places: (Int64?, Int64?)) -> String {
                        "\(member) at \(places.0.map(String.init) ?? "no place"), \(places.1.map(String.init) ?? "no place")"
                    }
                    try difference(.order, link.0, shown(expected), shown(found))
                }
                hasRow = try rows.step()
                hasWanted = try wanted.step()
            }
        }
        try relative?.0.end { try misplaced($0, id: try name(ends.0, $0.owner), pair.near.name, &line) }
        try relative?.1.end {
            try misplaced($0, id: try name(ends.1, $0.owner), pair.far?.name ?? pair.near.name, &line)
        }
    }
}
