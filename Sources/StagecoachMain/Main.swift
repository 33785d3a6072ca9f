import Glibc
import StagecoachCommand

@main
struct Main {
    static func main() { exit(CommandProcess.run()) }
}
