import Diagnostics
import Stagecoach

/// The section of a page about the course of a run: a time line of its stages, memory, spills, rows per second.
struct TimelineSection {
    /// The greatest number of lines. The longest stages have a line of their own.
    static let lines = 40
    /// The share of the whole below which stages are folded.
    private static let leastShare = 0.01

    private let account: RunAccount

    init(_ account: RunAccount) { self.account = account }

    func write(_ body: inout Markup) {
        if !account.spans.isEmpty {
            body.element("h2", "Time line")
            timeLine(&body)
        }
        guard account.samples.count > 1 else { return }
        body.element("h2", "Memory, spills, speed")
        charts(&body)
    }

    // MARK: - Stages

    /// One line of the time line.
    struct Line {
        var stage: String
        var subject: String
        /// The times at which the stage began and ended, in seconds.
        var stretches: [(begin: Double, end: Double)] = []
        var seconds: Double { stretches.reduce(0) { $0 + $1.end - $1.begin } }
        var name: String { subject.isEmpty ? stage : "\(stage) \(subject)" }
    }

    /// Returns the stages by kind of work, in the order in which they began. The shortest are combined.
    ///
    /// - Parameter steps: the names of a chain's migrations; those that have none are numbered.
    static func lines(_ spans: [StageSpan], steps: [String]) -> [Line] {
        var lines: [Line] = []
        let isChain = spans.contains { $0.step > 1 }
        for span in spans {
            let step = steps.indices.contains(span.step - 1) ? steps[span.step - 1] : "migration \(span.step)"
            let name = isChain ? [span.subject, step].filter { !$0.isEmpty }.joined(separator: ", ") : span.subject
            if let place = lines.firstIndex(where: { $0.stage == span.stage && $0.subject == name }) {
                lines[place].stretches.append((span.begin, span.end))
            } else {
                lines.append(Line(stage: span.stage, subject: name, stretches: [(span.begin, span.end)]))
            }
        }
        guard lines.count > Self.lines else { return lines }
        let least = lines.map(\.seconds).sorted(by: >)[Self.lines - 8]
        var shown: [Line] = []
        var others: [String: Int] = [:]
        for line in lines where line.seconds <= least { others[line.stage, default: 0] += 1 }
        for line in lines {
            if line.seconds > least || others[line.stage] == 1 {
                shown.append(line)
            } else if let place = shown.firstIndex(where: { $0.stage == line.stage && $0.subject.hasSuffix("others") })
            {
                shown[place].stretches += line.stretches
            } else {
                shown.append(
                    Line(
                        stage: line.stage, subject: "\((others[line.stage] ?? 0).grouped) others",
                        stretches: line.stretches))
            }
        }
        return shown
    }

    private func timeLine(_ body: inout Markup) {
        let end = max(account.spans.map(\.end).max() ?? 0, 1e-6)
        let lines = Self.lines(account.spans, steps: account.steps)
        let short = lines.filter { $0.seconds < Self.leastShare * end }
        body.element("div", ["class": "scroll"]) { box in
            box.element("div", ["class": "stages", "id": "stages"]) { stages in
                for line in lines where line.seconds >= Self.leastShare * end { draw(line, end, &stages) }
                stages.element("div", ["class": "stage"]) { row in
                    row.element("span", "")
                    Self.axis(end, &row)
                    row.element("span", "")
                }
                guard !short.isEmpty else { return }
                stages.element("details") { details in
                    let seconds = short.reduce(0) { $0 + $1.seconds }
                    details.element(
                        "summary",
                        "\(Figures.count(short.count, "stage")) under 1 %, \(Figures.duration(seconds)) in all")
                    for line in short { draw(line, end, &details) }
                }
            }
        }
    }

    private func draw(_ line: Line, _ end: Double, _ stages: inout Markup) {
        stages.element("div", ["class": "stage"]) { row in
            row.element("span", ["title": line.name], line.name)
            row.element("div", ["class": "track"]) { track in
                for stretch in line.stretches.prefix(200) {
                    let left = Figures.decimal(stretch.begin / end * 100, places: 2)
                    let width = Figures.decimal((stretch.end - stretch.begin) / end * 100, places: 2)
                    let style = "left:min(\(left)%,calc(100% - 2px));width:\(width)%"
                    track.element("i", ["class": line.stage, "style": style], "")
                }
            }
            row.element("span", ["class": "n"], Figures.duration(line.seconds))
        }
    }

    private static func axis(_ end: Double, _ box: inout Markup) {
        box.element("div", ["class": "axis"]) { axis in
            axis.element("span", "0 s")
            axis.element("span", Figures.duration(end))
        }
    }

    // MARK: - Charts

    private func charts(_ body: inout Markup) {
        let samples = account.samples
        let end = max(samples.last?.elapsed ?? 0, 1e-6)
        func chart(_ id: String, _ title: String, _ words: String, _ plot: SeriesPlot) {
            body.element("div", ["class": "card chart", "id": id]) { card in
                card.element("header") { header in
                    header.element("b", title)
                    header.element("span", ["class": "soft"], words)
                }
                plot.write(&card, label: "\(title): \(words)")
                Self.axis(end, &card)
            }
        }
        let limit = account.memoryLimit
        let peak = max(samples.map(\.memory).max() ?? 0, account.peakMemory)
        chart(
            "memory", "Resident memory",
            "peak \(Figures.size(peak))" + (limit.map { " of \(Figures.size($0)) allowed" } ?? ""),
            SeriesPlot(
                points: samples.map { ($0.elapsed / end, Double($0.memory)) },
                top: Double(max(peak, limit ?? 0)) * 1.08,
                color: "--blue", mark: limit.map { (Double($0), "limit \(Figures.size($0))") }))
        let spilled = samples.map(\.spilledBytes).max() ?? 0
        if spilled > 0 {
            chart(
                "spill", "Spilled to disk", "\(Figures.size(account.spilledBytes)) in all",
                SeriesPlot(
                    points: samples.map { ($0.elapsed / end, Double($0.spilledBytes)) }, top: Double(spilled) * 1.08,
                    color: "--violet"))
        }
        let rates = Self.rates(samples)
        let most = rates.map(\.rate).max() ?? 0
        guard most >= 1 else { return }
        let mean = Double(samples.map(\.rows).max() ?? 0) / end
        func count(_ rate: Double) -> String { Figures.count(Int(min(rate, 1e15))) }
        chart(
            "rate", "Rows a second", "at most \(count(most)), \(count(mean)) on average",
            SeriesPlot(
                points: rates.map { ($0.elapsed / end, $0.rate) }, top: most * 1.08, color: "--green", isStepped: true))
    }

    /// Returns the rows per second between samples. In a chain each migration counts from 0 again; after such a restart the
    /// whole count is used.
    static func rates(_ samples: [RunSample]) -> [(elapsed: Double, rate: Double)] {
        zip(samples, samples.dropFirst()).map { before, sample in
            let seconds = max(sample.elapsed - before.elapsed, 1e-3)
            let rows = sample.rows >= before.rows ? sample.rows - before.rows : sample.rows
            return (sample.elapsed, Double(rows) / seconds)
        }
    }
}

/// A plot of a line over time, filled below, as wide as its container.
struct SeriesPlot {
    /// The points: x is the time from 0 to 1.
    var points: [(x: Double, y: Double)]
    /// The value at the upper edge.
    var top: Double
    /// The name of its colour in the style sheet.
    var color: String
    /// A named value, drawn as a horizontal line.
    var mark: (value: Double, name: String)?
    /// True if each value applies to the time since the previous point.
    var isStepped = false

    func write(_ card: inout Markup, label: String) {
        guard top > 0, top.isFinite else { return }
        func place(_ value: Double, _ size: Double) -> String {
            // Attributes do not allow thousands separators.
            Figures.decimal(min(1, max(0, value.isFinite ? value : 0)) * size, places: 1).replacing(",", with: "")
        }
        var line: [String] = []
        var last: String?
        for point in points {
            let x = place(point.x, 1000)
            let y = place(1 - point.y / top, 100)
            if isStepped { line.append("\(last ?? "0"),\(y)") }
            line.append("\(x),\(y)")
            last = x
        }
        guard let last, let first = line.first?.split(separator: ",").first else { return }
        card.element("div", ["class": "plot"]) { plot in
            plot.element(
                "svg",
                [
                    "xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 1000 100", "preserveAspectRatio": "none",
                    "role": "img", "aria-label": label,
                ]
            ) { svg in
                let (area, points) = ("fill:var(\(color));opacity:.16", line.joined(separator: " "))
                let stroke = "fill:none;stroke:var(\(color));stroke-width:1.6;stroke-linejoin:round"
                svg.empty("polygon", ["points": "\(first),100 \(points) \(last),100", "style": area])
                svg.empty("polyline", ["points": points, "vector-effect": "non-scaling-stroke", "style": stroke])
                if let mark {
                    let y = place(1 - mark.value / top, 100)
                    svg.empty(
                        "line",
                        [
                            "x1": "0", "x2": "1000", "y1": y, "y2": y, "vector-effect": "non-scaling-stroke",
                            "style": "stroke:var(--red);stroke-width:1.2;stroke-dasharray:5 4",
                        ])
                }
            }
            if let mark {
                plot.element(
                    "span", ["class": "mark", "style": "color:var(--red);top:\(place(1 - mark.value / top, 100))%"],
                    mark.name)
            }
        }
    }
}
