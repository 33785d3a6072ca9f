import Stagecoach

/// A drawing of a mapping model's part of a plan. Passes are below each other. Each has a box for every table loaded in it,
/// with its entity mappings and the relationships that it carries. Connections at the right lead to the tables they refer to.
///
/// It is as wide as one box and the connections beside it, and as high as its lines need, so one entity mapping is as readable
/// as forty.
struct PlanPicture {
    /// The ways in which the links of a relationship are made. The inverse of a drawn one has none, and neither has one that
    /// nothing sets.
    enum Sign: String, CaseIterable {
        case row
        case table
        case join
        case logged

        /// The sign as shown in the legend, its meaning, and the style of its line.
        var look: (picture: String, meaning: String, style: String) {
            switch self {
            case .row: ("──", "looked up row by row", "stroke-width:1.6")
            case .table: ("– –", "resolved over the whole table", "stroke-width:1.6;stroke-dasharray:6 4")
            case .join: ("══", "links in a join table", "stroke-width:3.4")
            case .logged: ("····", "logged by the stages, merged at the load", "stroke-width:1.6;stroke-dasharray:2 3")
            }
        }
    }

    private static let boxWidth = 440
    private static let lineHeight = 20
    private static let boxLeft = 14
    /// The distance between the lanes of two tables.
    private static let laneWidth = 9
    private static let boxRight = boxLeft + boxWidth

    /// One line in a box.
    private struct Line {
        var text: String
        var right = ""
        var hint: String
        var isTitle = false
        var isSoft = false
        /// The table that a relationship refers to, and how.
        var target: String?
        var sign: Sign?
        var isDeferred = false
        /// The vertical centre of the line, set by the layout.
        var middle = 0
    }

    /// A table in a pass.
    private struct Box {
        var rootEntity: String
        var lines: [Line]
        /// True if relationships lead to the table.
        var isTarget: Bool
        var top = 0
        var height: Int { lines.count * PlanPicture.lineHeight + 14 }
    }

    private struct Pass {
        var title: String
        var boxes: [Box]
        var footer: String?
        var top = 0
        var bottom = 0
    }

    /// The connection to one table: from the lines that refer to it, along one lane, to its box.
    private struct Way {
        var target: Int
        var from: [(middle: Int, sign: Sign, isDeferred: Bool)]
        var top: Int
        var bottom: Int
        var lane = 0
    }

    private var passes: [Pass] = []
    private var ways: [Way] = []
    private var height = 0

    init(_ model: MigrationPlan.Model) {
        passes = Self.passes(of: model)
        place()
        findWays()
    }

    // MARK: - Content

    private static func passes(of model: MigrationPlan.Model) -> [Pass] {
        let tables = Dictionary(model.tables.map { ($0.rootEntity, $0) }, uniquingKeysWith: { first, _ in first })
        let mappings = Dictionary(
            model.entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var drawn: Set<String> = []
        var passes: [Pass] = []
        for (index, pass) in model.passes.enumerated() {
            var boxes: [Box] = []
            for step in pass.steps {
                var words = Figures.count(step.sourceRows, "row")
                if let keys = tables[step.rootEntity]?.keys { words += ", keys \(keys.rawValue)" }
                var lines = [Line(text: step.rootEntity, right: words, hint: step.rootEntity, isTitle: true)]
                if let text = PlanWording.range(step) { lines.append(Line(text: text, hint: text, isSoft: true)) }
                for name in step.entityMappings {
                    guard let mapping = mappings[name] else { continue }
                    let isObjects = mapping.path == .objects
                    lines.append(
                        Line(
                            text: "\(isObjects ? "◆ " : "")\(mapping.sourceEntity ?? "nothing") → "
                                + (mapping.destinationEntity ?? "nothing"),
                            right: name, hint: "\(name): \(mapping.reason)"))
                }
                if step.entityMappings.isEmpty {
                    lines.append(Line(text: "without source rows", hint: "No entity mapping fills it", isSoft: true))
                }
                if step.closes { lines += relationships(of: step.rootEntity, in: model, drawn: &drawn) }
                boxes.append(Box(rootEntity: step.rootEntity, lines: lines, isTarget: step.closes))
            }
            let joins =
                pass.joinTables.isEmpty ? nil : "join tables at its end: " + pass.joinTables.joined(separator: ", ")
            passes.append(Pass(title: "Pass \(index + 1) of \(model.passes.count)", boxes: boxes, footer: joins))
        }
        let others = model.entityMappings.filter { $0.path == .none }
        if !others.isEmpty {
            let lines = others.map { Line(text: $0.sourceEntity ?? "–", right: $0.name, hint: $0.reason) }
            let title = Line(text: "No object is made of", hint: "No object is made of these", isTitle: true)
            passes.append(
                Pass(
                    title: "Left out", boxes: [Box(rootEntity: "", lines: [title] + lines, isTarget: false)],
                    footer: nil))
        }
        return passes
    }

    /// Returns the drawn relationships of a table: of an inverse pair, the side that carries the links.
    private static func relationships(
        of root: String, in model: MigrationPlan.Model, drawn: inout Set<String>
    ) -> [Line] {
        var lines: [Line] = []
        for line in model.relationships where line.rootEntity == root {
            guard let sign = Sign(rawValue: line.resolution.rawValue) else { continue }
            let own = "\(line.entity).\(line.name)"
            if sign == .join || sign == .logged, let inverse = line.inverse, inverse != own, drawn.contains(inverse) {
                continue
            }
            drawn.insert(own)
            lines.append(
                Line(
                    text: "\(line.entity == root ? "" : line.entity + ".")\(line.name)",
                    right: "\(line.isToMany ? "⇉" : "→") \(line.destinationEntity)"
                        + (line.isDeferred ? ", deferred" : ""),
                    hint: "\(own) to \(line.destinationEntity): \(sign.look.meaning)"
                        + (line.isDeferred ? ", in a later pass than its sides" : ""), isSoft: true,
                    target: line.destinationRootEntity, sign: sign, isDeferred: line.isDeferred))
        }
        return lines
    }

    // MARK: - Layout

    private mutating func place() {
        var y = 4
        for pass in passes.indices {
            passes[pass].top = y
            y += 30
            for box in passes[pass].boxes.indices {
                passes[pass].boxes[box].top = y
                for line in passes[pass].boxes[box].lines.indices {
                    passes[pass].boxes[box].lines[line].middle = y + 7 + line * Self.lineHeight + Self.lineHeight / 2
                }
                y += passes[pass].boxes[box].height + 10
            }
            if passes[pass].footer != nil { y += 20 }
            passes[pass].bottom = y
            y += 12
        }
        height = y
    }

    private mutating func findWays() {
        var targets: [String: Int] = [:]
        for box in passes.flatMap(\.boxes) where box.isTarget {
            if let title = box.lines.first { targets[box.rootEntity] = title.middle }
        }
        var byTarget: [String: Way] = [:]
        for line in passes.flatMap(\.boxes).flatMap(\.lines) {
            guard let name = line.target, let sign = line.sign, let target = targets[name] else { continue }
            var way = byTarget[name] ?? Way(target: target, from: [], top: target, bottom: target)
            way.from.append((line.middle, sign, line.isDeferred))
            way.top = min(way.top, line.middle)
            way.bottom = max(way.bottom, line.middle)
            byTarget[name] = way
        }
        // Short connections run next to the boxes; two that do not overlap share a lane.
        var lanes: [[(top: Int, bottom: Int)]] = []
        for var way in byTarget.values.sorted(by: { ($0.bottom - $0.top, $0.target) < ($1.bottom - $1.top, $1.target) })
        {
            let free = lanes.firstIndex { lane in
                lane.allSatisfy { $0.bottom + 6 < way.top || way.bottom + 6 < $0.top }
            }
            way.lane = free ?? lanes.count
            if free == nil { lanes.append([]) }
            lanes[way.lane].append((way.top, way.bottom))
            ways.append(way)
        }
    }

    private var width: Int { Self.boxRight + 30 + ((ways.map(\.lane).max() ?? -1) + 1) * Self.laneWidth }

    // MARK: - Drawing

    func write(_ box: inout Markup) {
        box.element(
            "svg",
            [
                "xmlns": "http://www.w3.org/2000/svg", "width": "\(width)", "height": "\(height)",
                "viewBox": "0 0 \(width) \(height)", "role": "img", "aria-label": "The plan: \(passes.count) passes",
                "class": "plan",
            ]
        ) { svg in
            for pass in passes { draw(pass, &svg) }
            for way in ways { draw(way, &svg) }
        }
    }

    private func draw(_ pass: Pass, _ svg: inout Markup) {
        svg.empty(
            "rect",
            [
                "x": "1", "y": "\(pass.top)", "width": "\(Self.boxWidth + 26)", "height": "\(pass.bottom - pass.top)",
                "rx": "10", "style": "fill:var(--band)",
            ])
        svg.element("text", ["x": "\(Self.boxLeft)", "y": "\(pass.top + 20)", "class": "strong"], pass.title)
        if let footer = pass.footer {
            svg.element("text", ["x": "\(Self.boxLeft)", "y": "\(pass.bottom - 10)", "class": "soft"]) { text in
                text.element("title", footer)
                text.words(Self.cut(footer, to: Self.boxWidth, size: 12))
            }
        }
        for box in pass.boxes {
            svg.empty(
                "rect",
                [
                    "x": "\(Self.boxLeft)", "y": "\(box.top)", "width": "\(Self.boxWidth)", "height": "\(box.height)",
                    "rx": "7", "style": "fill:var(--card);stroke:var(--line)",
                ])
            for line in box.lines { draw(line, &svg) }
        }
    }

    private func draw(_ line: Line, _ svg: inout Markup) {
        let base = line.middle + 5
        let left = Self.boxLeft + (line.sign == nil ? 12 : 46)
        let room = Self.boxRight - 12 - left
        let rightWidth = min(Self.textWidth(line.right, size: 12), line.isTitle ? room * 6 / 10 : room / 2)
        let leftRoom = room - rightWidth - 10
        if let sign = line.sign {
            // A double line is a wide line with the background drawn over its middle.
            for style in ["stroke:\(Self.color(line.isDeferred));\(sign.look.style)"]
                + (sign == .join ? ["stroke:var(--card);stroke-width:1.2"] : [])
            {
                svg.empty(
                    "line",
                    [
                        "x1": "\(Self.boxLeft + 12)", "x2": "\(Self.boxLeft + 40)", "y1": "\(line.middle)",
                        "y2": "\(line.middle)", "style": style,
                    ])
            }
        }
        svg.element(
            "text", ["x": "\(left)", "y": "\(base)", "class": line.isTitle ? "strong" : line.isSoft ? "soft" : "word"]
        ) { text in
            text.element("title", line.hint)
            text.words(Self.cut(line.text, to: leftRoom, size: 13))
        }
        guard !line.right.isEmpty else { return }
        svg.element("text", ["x": "\(Self.boxRight - 12)", "y": "\(base)", "class": "soft", "text-anchor": "end"]) {
            text in
            text.element("title", line.hint)
            text.words(Self.cut(line.right, to: rightWidth, size: 12))
        }
    }

    private func draw(_ way: Way, _ svg: inout Markup) {
        let x = Self.boxRight + 22 + way.lane * Self.laneWidth
        let isDeferred = way.from.contains { $0.isDeferred }
        func line(_ points: String, _ style: String) {
            svg.empty(
                "path",
                ["d": points, "style": "fill:none;stroke:\(Self.color(isDeferred));\(style);stroke-linecap:round"])
        }
        for from in way.from where from.middle != way.target {
            let bend = from.middle < way.target ? 5 : -5
            line(
                "M\(Self.boxRight) \(from.middle)H\(x - 5)Q\(x) \(from.middle) \(x) \(from.middle + bend)"
                    + "V\(way.target - bend)Q\(x) \(way.target) \(x - 5) \(way.target)",
                "stroke-width:1.3;opacity:.75")
        }
        line("M\(Self.boxRight + 6) \(way.target)H\(x - 5)", "stroke-width:1.3;opacity:.75")
        svg.empty(
            "path",
            [
                "d": "M\(Self.boxRight + 1) \(way.target)l8 -4v8z",
                "style": "fill:\(Self.color(isDeferred));stroke:none",
            ])
    }

    private static func color(_ isDeferred: Bool) -> String { isDeferred ? "var(--red)" : "var(--blue)" }

    // MARK: - Widths

    /// Estimates the width of a text in points, rather too large than too small.
    static func textWidth(_ text: String, size: Int) -> Int {
        let units = text.unicodeScalars.reduce(0) { sum, scalar in
            switch scalar.value {
            case 0x20...0x7E:
                sum
                    + ("iljtfrI.,:;'| !()".unicodeScalars.contains(scalar)
                        ? 42 : scalar.properties.isUppercase ? 74 : 62)
            // Chinese, Japanese, Korean, emoji.
            case 0x2E80...: sum + 104
            default: sum + 66
            }
        }
        return (units * size + 99) / 100
    }

    /// Returns a text cut to a width, with a sign that it was cut.
    static func cut(_ text: String, to width: Int, size: Int) -> String {
        guard textWidth(text, size: size) > width else { return text }
        var result = ""
        var used = textWidth("…", size: size)
        for character in text {
            used += textWidth(String(character), size: size)
            if used > width { break }
            result.append(character)
        }
        return result + "…"
    }
}
