import Glibc
import StagecoachCommand

@main
struct Main {
    static func main() { exit(PolicyProgram.takeOver(CommandLine.arguments) ?? CommandProcess.run()) }
}
