import Stagecoach
import Testing

@testable import StagecoachCommand

@Suite("Progress")
struct ProgressTests {
    private let figures = {
        var counts = ProgressCounter().snapshot
        (counts.phase, counts.pass, counts.passes) = (.load, 2, 5)
        (counts.rows, counts.totalRows) = (86_000, 200_000)
        (counts.destinationBytes, counts.expectedBytes, counts.spilledBytes) = (210 << 20, 508 << 20, 3 << 20)
        return ProgressFigures(counts: counts, elapsed: 43, rate: 2_000, memory: 41 << 20)
    }()

    @Test("a wide terminal shows everything")
    func wide() {
        #expect(
            figures.line(width: 200)
                == "load  [########------------]  43 %  pass 2/5  86,000 of 200,000 rows  210.0 MiB of 508.0 MiB  2,000 rows/s  57 s left  memory 41.0 MiB  spilled 3.00 MiB"
        )
    }

    @Test("a narrow terminal shows what matters, and never fills its last column")
    func narrow() {
        for width in 1...160 { #expect(figures.line(width: width).count <= max(1, width - 1)) }
        #expect(figures.line(width: 60) == "load  [########------------]  43 %  pass 2/5  57 s left")
        #expect(figures.line(width: 40) == "load  [########------------]  43 %")
        #expect(figures.line(width: 12) == "load  43 %")
        #expect(figures.line(width: 5) == "43 %")
    }

    @Test("what the run waits for comes before its figures")
    func waiting() {
        var figures = figures
        figures.counts.waitsFor = "the disk"
        #expect(figures.plainLine.hasPrefix("load, waiting for the disk, 43 %, pass 2/5"))
        #expect(figures.line(width: 40) == "load  waiting for the disk  43 %")
    }

    @Test("no time left is given before 1 %, nor at the end")
    func timeLeft() {
        var figures = figures
        figures.counts.rows = 1_800
        #expect(figures.timeLeft == nil)
        figures.counts.rows = 100_000
        #expect(figures.timeLeft == 43)
        // The work of the killed run took this one no time.
        figures.doneBefore = 0.4
        #expect(figures.timeLeft.map { ($0 * 1000).rounded() } == 215_000)
        figures.doneBefore = 0.495
        #expect(figures.timeLeft == nil)
        figures.doneBefore = 0
        figures.counts.phase = .done
        #expect(figures.timeLeft == nil)
        #expect(ProgressFigures(counts: ProgressCounter().snapshot).plainLine == "opening")
    }

    @Test(
        "the style follows choice, terminal and environment",
        arguments: [
            (nil, true, [:], .redrawn), (nil, false, [:], .lines), ("auto", true, ["TERM": "dumb"], .lines),
            ("auto", true, ["NO_COLOR": "1"], .redrawn), ("bar", false, [:], .lines), ("bar", true, [:], .redrawn),
            ("bar", true, ["TERM": "dumb"], .redrawn), ("lines", true, [:], .lines), ("json", true, [:], .events),
            ("json", false, ["TERM": "dumb"], .events), ("none", true, [:], .none), ("none", false, [:], .none),
        ] as [(String?, Bool, [String: String], ProgressDisplay.Style)])
    func styles(choice: String?, isTerminal: Bool, environment: [String: String], style: ProgressDisplay.Style) {
        let console = Console(
            output: TextBuffer(), error: TextBuffer(), environment: environment, isTerminal: isTerminal)
        #expect(ProgressDisplay.Style(choice: choice, console: console) == style)
    }

    @Test("the width is COLUMNS, else the terminal's, else 80")
    func width() {
        func width(_ columns: String?, _ terminal: Int?) -> Int {
            Console(
                output: TextBuffer(), error: TextBuffer(), environment: columns.map { ["COLUMNS": $0] } ?? [:],
                columns: { terminal }
            ).lineWidth
        }
        #expect(width("40", 100) == 40)
        #expect(width("0", 100) == 100)
        #expect(width("wide", nil) == 80)
    }

    @Test("a message takes the progress line away, and a shorter line erases a longer one, without escape codes")
    func redrawing() {
        let buffer = TextBuffer()
        let stream = MessageStream(buffer)
        stream.redraw("12345")
        stream.redraw("123")
        stream.write("message\n")
        stream.redraw("")
        #expect(buffer.text == "\r12345\r123  \r   \rmessage\n")
    }

    @Test("the first signal cancels, the second ends at once; without work to cancel the first does")
    func signals() throws {
        let interruption = Interruption()
        let flag = CancellationFlag()
        interruption.during(flag) {
            #expect(interruption.interrupt(by: "SIGTERM") == .stopping)
            #expect(interruption.interrupt(by: "SIGTERM") == .atOnce)
        }
        #expect(ErrorWording.exitCode(try #require(flag.error)) == 75)
        #expect(Interruption().interrupt(by: "SIGINT") == .atOnce)
    }
}
