import Diagnostics
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
        var style = "word"
        /// The table that a relationship refers to, and how.
        var link: (target: String, sign: Sign, isDeferred: Bool)?
    }

    /// A table in a pass.
    private struct Box {
        var rootEntity: String
        var lines: [Line]
        /// True if relationships lead to the table.
        var isTarget: Bool
        var top = 0
        var height: Int { lines.count * PlanPicture.lineHeight + 14 }

        /// The lines with the vertical centre of each.
        var placed: [(middle: Int, line: Line)] {
            lines.enumerated().map { (top + 7 + $0 * PlanPicture.lineHeight + PlanPicture.lineHeight / 2, $1) }
        }
    }

    private struct Pass {
        var title: String
        var boxes: [Box]
        var footer: String?
        var top: Int
        var bottom = 0
    }

    /// The connection to one table: from the lines that refer to it, along one lane, to its box.
    private struct Way {
        let target: Int
        var from: [Int] = []
        var isDeferred = false
        var lane = 0
        var top: Int { min(target, from.min() ?? target) }
        var bottom: Int { max(target, from.max() ?? target) }
    }

    private var passes: [Pass] = []
    private var ways: [Way] = []
    private var height = 4

    init(_ model: MigrationPlan.Model) {
        var drawn: Set<String> = []
        for (index, pass) in model.passes.enumerated() {
            add(
                "Pass \(index + 1) of \(model.passes.count)", pass.steps.map { Self.box($0, in: model, drawn: &drawn) },
                footer: pass.joinTables.isEmpty
                    ? nil : "join tables at its end: " + pass.joinTables.joined(separator: ", "))
        }
        let others = model.entityMappings.filter { $0.path == .none }
        if !others.isEmpty {
            let title = Line(text: "No object is made of", hint: "No object is made of these", style: "strong")
            let lines = others.map { Line(text: $0.sourceEntity ?? "–", right: $0.name, hint: $0.reason) }
            add("Left out", [Box(rootEntity: "", lines: [title] + lines, isTarget: false)])
        }
        findWays()
    }

    // MARK: - Content

    private static func box(
        _ step: MigrationPlan.Step, in model: MigrationPlan.Model, drawn: inout Set<String>
    ) -> Box {
        var words = Figures.count(step.sourceRows, "row")
        if let keys = model.tables.first(where: { $0.rootEntity == step.rootEntity })?.keys {
            words += ", keys \(keys.rawValue)"
        }
        var lines = [Line(text: step.rootEntity, right: words, hint: step.rootEntity, style: "strong")]
        if let text = PlanWording.range(step) { lines.append(Line(text: text, hint: text, style: "soft")) }
        for name in step.entityMappings {
            guard let mapping = model.entityMappings.first(where: { $0.name == name }) else { continue }
            let ends = "\(mapping.sourceEntity ?? "nothing") → \(mapping.destinationEntity ?? "nothing")"
            lines.append(
                Line(
                    text: (mapping.path == .objects ? "◆ " : "") + ends, right: name,
                    hint: "\(name): \(mapping.reason)"))
        }
        if step.entityMappings.isEmpty {
            lines.append(Line(text: "without source rows", hint: "No entity mapping fills it", style: "soft"))
        }
        if step.closes { lines += relationships(of: step.rootEntity, in: model, drawn: &drawn) }
        return Box(rootEntity: step.rootEntity, lines: lines, isTarget: step.closes)
    }

    /// Returns the drawn relationships of a table: of an inverse pair, the side that carries the links.
    private static func relationships(
        of root: String, in model: MigrationPlan.Model, drawn: inout Set<String>
    ) -> [Line] {
        var lines: [Line] = []
        for line in model.relationships where line.rootEntity == root {
            guard let sign = Sign(rawValue: line.resolution.rawValue) else { continue }
            let own = line.fullName
            if sign == .join || sign == .logged, let inverse = line.inverse, inverse != own, drawn.contains(inverse) {
                continue
            }
            drawn.insert(own)
            lines.append(
                Line(
                    text: line.entity == root ? line.name : own,
                    right:
                        "\(line.isToMany ? "⇉" : "→") \(line.destinationEntity)\(line.isDeferred ? ", deferred" : "")",
                    hint: "\(own) to \(line.destinationEntity): \(sign.look.meaning)"
                        + (line.isDeferred ? ", in a later pass than its sides" : ""),
                    style: "soft", link: (line.destinationRootEntity, sign, line.isDeferred)))
        }
        return lines
    }

    // MARK: - Layout

    /// Adds a pass below those before.
    private mutating func add(_ title: String, _ boxes: [Box], footer: String? = nil) {
        var pass = Pass(title: title, boxes: boxes, footer: footer, top: height)
        height += 30
        for box in boxes.indices {
            pass.boxes[box].top = height
            height += boxes[box].height + 10
        }
        if footer != nil { height += 20 }
        pass.bottom = height
        height += 12
        passes.append(pass)
    }

    private mutating func findWays() {
        let boxes = passes.flatMap(\.boxes)
        var byTarget: [String: Way] = [:]
        for box in boxes where box.isTarget { byTarget[box.rootEntity] = Way(target: box.placed[0].middle) }
        for (middle, line) in boxes.flatMap(\.placed) {
            guard let link = line.link else { continue }
            byTarget[link.target]?.from.append(middle)
            if link.isDeferred { byTarget[link.target]?.isDeferred = true }
        }
        // Short connections run next to the boxes; two that do not overlap share a lane.
        var lanes: [[Way]] = []
        for var way in byTarget.values.filter({ !$0.from.isEmpty }).sorted(by: {
            ($0.bottom - $0.top, $0.target) < ($1.bottom - $1.top, $1.target)
        }) {
            let free = lanes.firstIndex { lane in
                lane.allSatisfy { $0.bottom + 6 < way.top || way.bottom + 6 < $0.top }
            }
            way.lane = free ?? lanes.count
            if free == nil { lanes.append([]) }
            lanes[way.lane].append(way)
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
                "viewBox": "0 0 \(width) \(height)", "role": "img",
                "aria-label": "The plan: \(passes.count.counted("pass", "passes"))",
                "class": "plan",
            ]
        ) { svg in
            for pass in passes { draw(pass, &svg) }
            for way in ways { draw(way, &svg) }
        }
    }

    private func draw(_ pass: Pass, _ svg: inout Markup) {
        func rectangle(_ x: Int, _ y: Int, _ width: Int, _ height: Int, corners: Int, _ style: String) {
            svg.empty(
                "rect",
                [
                    "x": "\(x)", "y": "\(y)", "width": "\(width)", "height": "\(height)", "rx": "\(corners)",
                    "style": style,
                ])
        }
        rectangle(1, pass.top, Self.boxWidth + 26, pass.bottom - pass.top, corners: 10, "fill:var(--band)")
        svg.element("text", ["x": "\(Self.boxLeft)", "y": "\(pass.top + 20)", "class": "strong"], pass.title)
        if let footer = pass.footer {
            label(
                Self.cut(footer, to: Self.boxWidth, size: 12), hint: footer,
                ["x": "\(Self.boxLeft)", "y": "\(pass.bottom - 10)", "class": "soft"], &svg)
        }
        for box in pass.boxes {
            rectangle(
                Self.boxLeft, box.top, Self.boxWidth, box.height, corners: 7, "fill:var(--card);stroke:var(--line)")
            for (middle, line) in box.placed { draw(line, middle, &svg) }
        }
    }

    private func draw(_ line: Line, _ middle: Int, _ svg: inout Markup) {
        let base = middle + 5
        let left = Self.boxLeft + (line.link == nil ? 12 : 46)
        let room = Self.boxRight - 12 - left
        let rightRoom = line.style == "strong" ? room * 6 / 10 : room / 2
        let rightWidth = min(Self.textWidth(line.right, size: 12), rightRoom)
        if let link = line.link {
            // A double line is a wide line with the background drawn over its middle.
            for style in ["stroke:\(Self.color(link.isDeferred));\(link.sign.look.style)"]
                + (link.sign == .join ? ["stroke:var(--card);stroke-width:1.2"] : [])
            {
                svg.empty(
                    "line",
                    [
                        "x1": "\(Self.boxLeft + 12)", "x2": "\(Self.boxLeft + 40)", "y1": "\(middle)",
                        "y2": "\(middle)", "style": style,
                    ])
            }
        }
        label(
            Self.cut(line.text, to: room - rightWidth - 10, size: 13), hint: line.hint,
            ["x": "\(left)", "y": "\(base)", "class": line.style], &svg)
        guard !line.right.isEmpty else { return }
        label(
            Self.cut(line.right, to: rightWidth, size: 12), hint: line.hint,
            ["x": "\(Self.boxRight - 12)", "y": "\(base)", "class": "soft", "text-anchor": "end"], &svg)
    }

    private func label(
        _ words: String, hint: String, _ attributes: KeyValuePairs<String, String>, _ svg: inout Markup
    ) {
        svg.element("text", attributes) { text in
            text.element("title", hint)
            text.words(words)
        }
    }

    private func draw(_ way: Way, _ svg: inout Markup) {
        let x = Self.boxRight + 22 + way.lane * Self.laneWidth
        let color = Self.color(way.isDeferred)
        func line(_ points: String) {
            let style = "fill:none;stroke:\(color);stroke-width:1.3;opacity:.75;stroke-linecap:round"
            svg.empty("path", ["d": points, "style": style])
        }
        for middle in way.from where middle != way.target {
            let bend = middle < way.target ? 5 : -5
            line(
                "M\(Self.boxRight) \(middle)H\(x - 5)Q\(x) \(middle) \(x) \(middle + bend)"
                    + "V\(way.target - bend)Q\(x) \(way.target) \(x - 5) \(way.target)")
        }
        line("M\(Self.boxRight + 6) \(way.target)H\(x - 5)")
        let arrow = "M\(Self.boxRight + 1) \(way.target)l8 -4v8z"
        svg.empty("path", ["d": arrow, "style": "fill:\(color);stroke:none"])
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
