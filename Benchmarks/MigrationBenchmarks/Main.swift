import Diagnostics
import Glibc

/// Measures migrations: makes a store, runs each way of migrating it in a process of its own, compares.
///
///     MigrationBenchmarks store --books 98000 library.sqlite
///     MigrationBenchmarks run --store library.sqlite --rounds 3 --memory-limit 64M --json results.json
///     MigrationBenchmarks associations --pairs 100000000
///     MigrationBenchmarks plot --folder docs results.json
///     MigrationBenchmarks small --stores 1000
///     MigrationBenchmarks fleet --stores 1000 folder
///     MigrationBenchmarks pages --rows 1000000
///     MigrationBenchmarks expressions --rows 1000000
///     MigrationBenchmarks composites --rows 1000000
///     MigrationBenchmarks transformables --rows 1000000
///     MigrationBenchmarks deletions --objects 1000000 --kills 20
///     MigrationBenchmarks distinct --objects 200000
///     MigrationBenchmarks spill --store library.sqlite
@main
struct Main {
    static func main() {
        var arguments = CommandLine.arguments.dropFirst()
        do {
            switch arguments.popFirst() {
            case "store": try StoreCommand.run(Array(arguments))
            case "run": exit(try RunCommand.run(Array(arguments)))
            case "associations": try AssociationsCommand.run(Array(arguments))
            case "expressions": try ExpressionsCommand.run(Array(arguments))
            case "pages": try PagesCommand.run(Array(arguments))
            case "composites": try CompositesCommand.run(Array(arguments))
            case "transformables": try TransformablesCommand.run(Array(arguments))
            case "deletions": try DeletionsCommand.run(Array(arguments))
            case "distinct": try DistinctCommand.run(Array(arguments))
            case "plot": try PlotCommand.run(Array(arguments))
            case "small": try SmallCommand.run(Array(arguments))
            case "fleet": try FleetCommand.run(Array(arguments))
            case "spill": try SpillCommand.run(Array(arguments))
            // Not for people: what the children of `run`, and tests of the memory limit, execute.
            case "migrate": try MigrateCommand.run(Array(arguments))
            case "verify": try VerifyCommand.run(Array(arguments))
            default:
                throw Arguments.usage(
                    "Name a subcommand: store, run, plot, small, fleet, pages, expressions, composites, transformables, deletions, distinct, associations or spill"
                )
            }
        } catch let error as MigrationError {
            complain("\(error)")
            exit(error.category.rawValue)
        } catch {
            complain("\(error)")
            exit(MigrationError.Category.internal.rawValue)
        }
    }

    /// Writes a line to standard error.
    static func complain(_ line: String) {
        let text = line + "\n"
        _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }
}
