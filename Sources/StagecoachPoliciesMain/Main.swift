import Glibc
import StagecoachCommand

/// The command for libraries of policies: the same as `stagecoach`, with Swift's libraries outside it.
@main
struct Main {
    static func main() { exit(CommandProcess.run()) }
}
