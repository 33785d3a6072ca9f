import Foundation

// The fuzzers of everything that reads what strangers wrote: `Fuzzing TARGET [libFuzzer's arguments]`, and
// `Fuzzing seeds FOLDER FIXTURES` to write a corpus of seeds. Tests/Fuzzing/run builds and runs them.

/// libFuzzer's entry, for programs that have a main of their own.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ target: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

private let words = CommandLine.arguments
guard words.count > 1 else {
    print("Fuzzing TARGET …, of: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))")
    exit(64)
}
if words[1] == "targets" {
    print(FuzzTarget.allCases.map(\.rawValue).joined(separator: "\n"))
    exit(0)
}
if words[1] == "seeds", words.count == 4 {
    try FuzzSeeds.write(to: words[2], fixtures: words[3])
    exit(0)
}
guard let chosen = FuzzTarget(rawValue: words[1]) else {
    print("There is no target \(words[1])")
    exit(64)
}
FuzzTarget.current = chosen
// The target's name is not libFuzzer's.
private let rest = [words[0]] + words[2...]
private var pointers: [UnsafeMutablePointer<CChar>?] = rest.map { strdup($0) } + [nil]
private var count = Int32(rest.count)
exit(
    pointers.withUnsafeMutableBufferPointer { buffer in
        var start: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = buffer.baseAddress
        return runFuzzer(&count, &start) { bytes, count in
            FuzzTarget.current.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        }
    })
