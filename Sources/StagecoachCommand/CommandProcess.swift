import Diagnostics
import Foundation
import SpillStorage

/// The process around a command: signals, streams, exit code.
package enum CommandProcess {
    /// Runs the command line of the process.
    ///
    /// - Returns: the exit code.
    package static func run() -> Int32 {
        // A closed pipe and a limit of file sizes are errors of one write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        var arguments = Array(CommandLine.arguments.dropFirst())
        let workerMemory = BatchWorker.takeMemory(from: &arguments)
        let runsPolicies = workerMemory != nil || PolicyProgram.asksForPolicies(arguments[...])
        let descriptor = runsPolicies ? keepResultsApart() : STDOUT_FILENO
        let output = DescriptorSink(descriptor)
        let console = Console(
            output: output, error: DescriptorSink(STDERR_FILENO), environment: ProcessInfo.processInfo.environment,
            isTerminal: isatty(STDERR_FILENO) == 1, columns: { Console.columns(of: STDERR_FILENO) },
            workerMemory: workerMemory)
        if let code = refuseAddressLimit() { return code }
        watchSignals(console)
        CrashLine.install(command: arguments.first, batch: workerMemory == nil ? nil : descriptor)
        if let damaged = firstArgumentWithoutUTF8() {
            console.messages.write(UsageError.notUTF8(damaged).text(command: nil))
            return MigrationError.Category.usage.rawValue
        }
        let code = Command.run(arguments, console: console)
        // A reader that closes the pipe has seen enough, but on a full disk the result is lost.
        guard code == 0, output.failure != 0, output.failure != EPIPE else { return code }
        let reason = NoRoom(output.failure)?.reason ?? String(cString: strerror(output.failure))
        console.messages.write("stagecoach: standard output: writing failed: \(reason)\n")
        return MigrationError.Category.io.rawValue
    }

    /// Prints that the process has too few addresses for any command, before it makes a thread or reads a file.
    ///
    /// - Returns: the exit code; nil if there are enough.
    private static func refuseAddressLimit() -> Int32? {
        guard AddressSpace.limit != nil else { return nil }
        ProcessMemory.returnFreedBlocks()
        do throws(MigrationError) {
            try AddressSpace.check(growth: 0)
            return nil
        } catch {
            DescriptorSink(STDERR_FILENO).write(ErrorWording.text(error))
            return ErrorWording.exitCode(error)
        }
    }

    /// Returns the first argument that is not valid UTF-8, with replacement characters; nil if all are valid. No file can be found
    /// by an argument that is not valid, so the command refuses it.
    private static func firstArgumentWithoutUTF8() -> String? {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            if String(validatingCString: argument) == nil { return String(cString: argument) }
        }
        return nil
    }

    /// Directs what user code prints to standard error, so that standard output has the command's results alone. Returns the
    /// descriptor for them.
    private static func keepResultsApart() -> Int32 {
        let results = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        guard results >= 0 else { return STDOUT_FILENO }
        dup2(STDERR_FILENO, STDOUT_FILENO)
        return results
    }

    /// Handles SIGINT and SIGTERM in a thread of their own, where any function may be called. Where the system makes no thread,
    /// they end the process at once.
    private static func watchSignals(_ console: Console) {
        // A signal that the parent ignored (nohup, a background job of a script) stays ignored.
        let numbers = [SIGINT, SIGTERM].filter { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return action.__sigaction_handler.sa_handler.map { unsafeBitCast($0, to: Int.self) } != 1
        }
        var watched = sigset_t()
        sigemptyset(&watched)
        for number in numbers { sigaddset(&watched, number) }
        // Block them before any other thread starts: threads inherit the mask.
        pthread_sigmask(SIG_BLOCK, &watched, nil)
        let set = watched
        // A worker may be signalled by its batch and by a sender that signals all processes of a job. Both mean one request,
        // and the batch reports its outcome.
        let isWorker = console.workerMemory != nil
        let thread = BackgroundThread {
            var set = set
            var isAsked = false
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                let name = number == SIGINT ? "SIGINT" : "SIGTERM"
                defer { isAsked = true }
                switch console.interruption.interrupt(by: name) {
                case .stopping where isWorker, .atOnce where isWorker && isAsked: continue
                case .stopping:
                    console.messages.write(
                        "stagecoach: \(name): stopping so that the run can be resumed; a second signal stops at once\n"
                    )
                case .atOnce:
                    console.messages.write("stagecoach: \(name): stopped at once\n")
                    _exit(MigrationError.Category.temporary.rawValue)
                }
            }
        }
        guard thread == nil else { return }
        for number in numbers { signal(number) { CommandProcess.endAtOnce($0) } }
        pthread_sigmask(SIG_UNBLOCK, &watched, nil)
    }

    /// Ends the process in a handler, which may call nothing but functions that are safe in signals.
    private static func endAtOnce(_ number: Int32) {
        let line: StaticString =
            number == SIGINT ? "stagecoach: SIGINT: stopped at once\n" : "stagecoach: SIGTERM: stopped at once\n"
        _ = write(STDERR_FILENO, line.utf8Start, line.utf8CodeUnitCount)
        _exit(MigrationError.Category.temporary.rawValue)
    }
}
