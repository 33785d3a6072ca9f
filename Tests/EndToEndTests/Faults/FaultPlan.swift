import TestSupport

/// The fault of one trial, as a line of text that a failure prints and `STAGECOACH_FAULT` takes.
///
///     append kill all 120,77     the run is killed at its 120th call on a file, the next one at its 77th
///     append torn write 9        killed halfway through the 9th write
///     append power/7 all 200     the power fails at the 200th call; 7 is the seed of what survives, 0: only what was synced
///     append ENOSPC space 17+    from the 17th call that takes space on, none is left
///     append EINTR read 3        the 3rd read is interrupted; short, EIO, EDQUOT and others likewise
struct FaultPlan: CustomStringConvertible, Sendable {
    let deed: String
    let seed: UInt64
    /// Kinds of calls, as `FaultPlan.c` lists them.
    let kinds: String
    /// Numbers of calls: one a run. 0: none.
    let at: [Int]
    /// True if all later calls fail too.
    let lasts: Bool

    init(deed: String, seed: UInt64 = 0, kinds: String, at: [Int], lasts: Bool = false) {
        self.deed = deed
        self.seed = seed
        self.kinds = kinds
        self.at = at
        self.lasts = lasts
    }

    /// Reads the text without the fixture's name; nil if it is none.
    init?(_ words: [Substring]) {
        guard words.count == 3 else { return nil }
        let deed = words[0].split(separator: "/")
        let numbers = words[2].filter { $0 != "+" }.split(separator: ",").compactMap { Int($0) }
        guard let first = deed.first, !numbers.isEmpty else { return nil }
        self.init(
            deed: String(first), seed: deed.count > 1 ? UInt64(deed[1]) ?? 0 : 0, kinds: String(words[1]), at: numbers,
            lasts: words[2].hasSuffix("+"))
    }

    var description: String {
        let name = deed == "power" ? "power/\(seed)" : deed
        return "\(name) \(kinds) \(at.map(String.init).joined(separator: ","))\(lasts ? "+" : "")"
    }

    /// True if the process dies of the fault.
    var kills: Bool { ["kill", "torn", "power"].contains(deed) }
    /// True if a careful program does not notice the fault.
    var isHarmless: Bool {
        deed == "short" || deed == "EINTR" && ["open", "read", "write", "truncate"].contains(kinds)
    }

    /// The environment of a run.
    func environment(run: Int) -> [String: String] {
        [
            "FAULT_DO": deed, "FAULT_KINDS": kinds, "FAULT_AT": String(run < at.count ? at[run] : 0),
            "FAULT_TIMES": lasts ? "0" : "1", "FAULT_SEED": String(seed),
        ]
    }
}

extension FaultPlan {
    /// The errors that each kind of call may return.
    private static let errors: [(kinds: String, deeds: [String])] = [
        ("read", ["EIO", "EINTR", "short"]), ("write", ["EIO", "ENOSPC", "EDQUOT", "EINTR", "short"]),
        ("open", ["EIO", "EINTR"]), ("create", ["ENOSPC", "EDQUOT", "EIO"]),
        ("sync", ["EIO", "ENOSPC", "EDQUOT", "EINTR"]), ("rename", ["EIO", "ENOSPC", "EDQUOT"]),
        ("truncate", ["EIO", "ENOSPC", "EINTR"]), ("link", ["EIO", "ENOSPC", "EDQUOT"]), ("clone", ["EIO", "ENOSPC"]),
        ("mkdir", ["EIO", "ENOSPC", "EDQUOT"]), ("lock", ["EIO"]), ("unlink", ["EIO"]),
        ("close", ["EIO", "ENOSPC"]), ("stat", ["EIO"]),
        ("space", ["ENOSPC", "EDQUOT"]), ("disk", ["EIO"]),
    ]

    /// An error at a random call of a random kind.
    static func error(_ calls: [String: Int], _ generator: inout SeededGenerator) -> FaultPlan {
        let space = ["create", "write", "mkdir", "link", "clone", "truncate"].reduce(0) { $0 + (calls[$1] ?? 0) }
        func count(_ kinds: String) -> Int {
            switch kinds {
            case "space": space
            case "disk": (calls["all"] ?? 0) - (calls["stat"] ?? 0) - (calls["lock"] ?? 0)
            default: calls[kinds] ?? 0
            }
        }
        let possible = errors.filter { count($0.kinds) > 0 }
        let (kinds, deeds) = possible[generator.below(possible.count)]
        let deed = deeds[generator.below(deeds.count)]
        // Interruptions end; a full disk and a broken one stay what they are.
        let lasts = kinds == "space" || kinds == "disk" || deed != "EINTR" && deed != "short" && generator.chance(3)
        return FaultPlan(
            deed: deed, kinds: kinds, at: [1 + generator.below(count(kinds))], lasts: lasts)
    }

    /// Kills of up to three runs in turn.
    static func kill(_ calls: [String: Int], _ generator: inout SeededGenerator) -> FaultPlan {
        if generator.chance(6), let writes = calls["write"], writes > 0 {
            return FaultPlan(deed: "torn", kinds: "write", at: [1 + generator.below(writes)])
        }
        let all = calls["all"] ?? 1
        // The beginning and the end, where much happens in few calls, come as often as the long middle.
        func moment() -> Int {
            switch generator.below(4) {
            case 0: 1 + generator.below(min(all, 150))
            case 1: max(1, all - generator.below(min(all, 150)))
            default: 1 + generator.below(all)
            }
        }
        return FaultPlan(deed: "kill", kinds: "all", at: (0...generator.below(3)).map { _ in moment() })
    }

    /// A power failure.
    static func power(_ calls: [String: Int], _ generator: inout SeededGenerator) -> FaultPlan {
        let all = calls["all"] ?? 1
        let at = generator.chance(2) ? max(1, all - generator.below(min(all, 200))) : 1 + generator.below(all)
        return FaultPlan(
            deed: "power", seed: generator.chance(3) ? 0 : UInt64(1 + generator.below(1_000_000)), kinds: "all",
            at: [at])
    }
}
