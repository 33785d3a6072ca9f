import Glibc
import StagecoachCommand

/// What `stagecoach` becomes where libraries of policies are given: the same command, with Swift's libraries outside it.
@main
struct Main {
    static func main() { exit(CommandProcess.run()) }
}
