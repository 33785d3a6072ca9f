import Glibc
import Testing

@testable import StagecoachCommand

@Suite("Programs that the command starts") struct ChildProcessTests {
    @Test("Signals that the command ignores do what they do elsewhere", arguments: [SIGPIPE, SIGXFSZ])
    func signals(number: Int32) throws {
        let before = signal(number, SIG_IGN)
        defer { signal(number, before) }
        let child = try #require(ChildProcess("/bin/sh", ["sh", "-c", "kill -s \(number) $$"], environment: []))
        close(child.input)
        close(child.output)
        #expect(child.wait() & 0x7f == number)
    }
}
