/// A text of metrics under construction, in the OpenMetrics format, which Prometheus and its collectors read.
struct OpenMetricsText {
    /// A sample: its labels, and its value.
    typealias Sample = (labels: KeyValuePairs<String, String>, value: Double)

    /// The first line of each text, by which a file of metrics is recognised.
    static let mark = "# TYPE stagecoach_running gauge"

    private var lines: [String] = []
    /// The labels of every sample, in front of its own.
    private let labels: [(name: String, value: String)]

    /// - Parameters:
    ///   - labels: the labels of every sample.
    ///   - isRunning: false at the end of the work.
    init(_ labels: [(name: String, value: String)], isRunning: Bool) {
        self.labels = labels
        gauge("running", "1 while the command runs, 0 when it has ended", isRunning ? 1 : 0)
    }

    /// The whole text.
    var text: String { lines.joined(separator: "\n") + "\n# EOF\n" }

    /// Adds a value that may fall; nothing if it is not known.
    mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
        if let value { gauge(name, help, [Self.plain(value)]) }
    }

    mutating func gauge(_ name: String, _ help: String, _ samples: [Sample]) {
        add(name, "gauge", help, suffix: "", samples)
    }

    /// Adds a value that only rises; its samples end in `_total`.
    mutating func counter(_ name: String, _ help: String, _ value: Double) { counter(name, help, [Self.plain(value)]) }

    mutating func counter(_ name: String, _ help: String, _ samples: [Sample]) {
        add(name, "counter", help, suffix: "_total", samples)
    }

    private static func plain(_ value: Double) -> Sample { (labels: [:], value: value) }

    private mutating func add(_ name: String, _ type: String, _ help: String, suffix: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        let name = "stagecoach_" + name
        lines += ["# TYPE \(name) \(type)", "# HELP \(name) \(help)"]
        for (own, value) in samples where value.isFinite {
            let all = labels + own.map { (name: $0.key, value: $0.value) }
            let pairs = all.map { "\($0.name)=\"\($0.value.escaped(["\\": "\\\\", "\"": "\\\"", "\n": "\\n"]))\"" }
            // Whole numbers have no exponent: some readers take none.
            let number = Int(exactly: value).map { "\($0)" } ?? "\(value)"
            lines.append(name + suffix + (pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") + " \(number)")
        }
    }
}
