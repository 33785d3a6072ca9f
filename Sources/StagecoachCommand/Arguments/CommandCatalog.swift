/// The commands of `stagecoach` with their options and examples.
package enum CommandCatalog {
    /// The program's version.
    package static let version = "0.1.0"

    package static let all: [CommandSpecification] = [migrate, plan, check, infer, inspect, demo]

    private static let migrationOptions: [OptionSpecification] = [
        .init("to", .text, "MODEL", isRequired: true, help: "The model version to migrate to."),
        .init(
            "from", .text, "MODEL",
            help:
                "The model version that wrote the store. Left out: the store's cached model, or the version in the --to bundle whose hashes match."
        ),
        .init("mapping", .text, "FILE", help: "The mapping model as JSON. Left out: inferred."),
        .init(
            "memory-limit", .size, "SIZE",
            help:
                "Peak resident memory, as 64M or 1G. Left out: 256M, or three quarters of the cgroup's limit where that is lower."
        ),
        .init("batch-size", .count(least: 1), "N", help: "Rows fetched at a time. Left out: the memory limit decides."),
        .init("work-dir", .text, "DIR", help: "Folder for spill files. Left out: beside the destination."),
        .init(
            "keys", .choice(["auto", "kept", "sequential"]), "CHOICE",
            help: "Which keys destination rows get: auto (kept where possible), kept, or sequential."),
        .init(
            "passes", .count(least: 1), "N", help: "Cut the work into at most N passes. Left out: the planner decides."),
        .init("dry-run", .flag, help: "Do everything but publish the destination."),
        .init(
            "strict-validation", .flag,
            help: "Fail on values that break a rule which the source model already had."),
        .init(
            "on-invalid", .choice(["fail", "reject"]), "CHOICE",
            help:
                "What becomes of objects that break the model's rules: fail (the first one ends the run) or reject (they are left out, and what needs them)."
        ),
        .init(
            "reject-file", .text, "FILE",
            help: "With --on-invalid reject: write the rejected objects and why to a new file, a line of JSON each."),
        .init(
            "max-rejects", .count(least: 0), "N",
            help: "With --on-invalid reject: fail where more objects are rejected. Left out: no limit."),
        .init("new-uuid", .flag, help: "Give the destination a UUID of its own."),
        .init("check", .choice(["full"]), "full", help: "Run SQLite's integrity check before publishing."),
        .init("report", .file(ending: ".json"), "FILE", help: "Write the report to a new file, NAME.json."),
        .init(
            "progress", .choice(["auto", "bar", "none"]), "CHOICE",
            help: "auto (on a terminal only), bar (elsewhere a line every ten seconds), or none."),
    ]

    static let migrate = CommandSpecification(
        "migrate", summary: "Migrate a store to another model version",
        discussion: """
            Reads SOURCE, which is not changed by a byte, and writes a fresh store at DESTINATION, where nothing may
            stand yet. A run that fails or is interrupted leaves no destination.

            MODEL is an .xcdatamodel, an .xcdatamodeld (its current version), Bundle.xcdatamodeld:Version, or a store
            (its cached model).
            """,
        operands: ["SOURCE", "DESTINATION"],
        options: migrationOptions + [.init("json", .flag, help: "Print the report as JSON instead of the summary.")],
        examples: [
            (
                "stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld",
                "to the current version, by inference"
            ),
            (
                "stagecoach migrate old.sqlite new.sqlite --to 'Library.xcdatamodeld:Library 2' --mapping library.json --memory-limit 64M",
                "by a mapping model, within 64 MiB"
            ),
        ])

    static let plan = CommandSpecification(
        "plan", summary: "Show the passes, tables and keys of a migration",
        discussion: """
            Takes the arguments of migrate and prints the passes, their tables, the keys of each and why. Nothing is
            written, neither beside SOURCE nor beside DESTINATION.
            """,
        operands: ["SOURCE", "DESTINATION"],
        options: migrationOptions + [.init("format", .choice(["text", "json"]), "FORMAT", help: "text or json.")],
        examples: [
            ("stagecoach plan old.sqlite new.sqlite --to Library.xcdatamodeld", "what migrate would do")
        ])

    static let check = CommandSpecification(
        "check", summary: "Count what breaks the new model's rules, without migrating",
        discussion: """
            Takes the arguments of migrate, does all of its work on files of its own, policies included, and counts the
            objects that break a rule of the destination model: by entity, property and rule, with the first ones' ids.
            DESTINATION may be left out and is not looked at; nothing is written, work files go to the folder for
            temporary files or to --work-dir and are removed.

            The exit code is 0 where a migration with the same arguments would not fail for its objects' sake, else 65.
            """,
        operands: ["SOURCE", "DESTINATION"], optionalOperands: 1,
        options: migrationOptions + [.init("json", .flag, help: "Print one JSON object.")],
        examples: [
            ("stagecoach check old.sqlite --to Library.xcdatamodeld", "what would keep the store from migrating")
        ])

    static let infer = CommandSpecification(
        "infer", summary: "Infer the mapping model between two model versions",
        discussion: """
            Writes the mapping model, which people review, change and keep in version control, as JSON to standard
            output or to a new file.
            """,
        operands: [],
        options: [
            .init("from", .text, "MODEL", isRequired: true, help: "The older version."),
            .init("to", .text, "MODEL", isRequired: true, help: "The newer version."),
            .init("output", letter: "o", .text, "FILE", help: "Write to a new file instead of standard output."),
        ],
        examples: [
            (
                "stagecoach infer --from Library.xcdatamodeld:Library --to 'Library.xcdatamodeld:Library 2' -o library.json",
                "to a file"
            )
        ])

    static let inspect = CommandSpecification(
        "inspect", summary: "Show what a store, a model or a mapping model holds",
        discussion: """
            PATH is a store, a model (.xcdatamodel, .xcdatamodeld, Bundle.xcdatamodeld:Version) or a mapping model as
            JSON. Nothing is changed.
            """,
        operands: ["PATH"],
        options: [.init("json", .flag, help: "Print one JSON object.")],
        examples: [
            ("stagecoach inspect old.sqlite", "version, entities, rows"),
            ("stagecoach inspect Library.xcdatamodeld", "entities, properties, version hashes"),
        ])

    static let demo = CommandSpecification(
        "demo", summary: "Make a store, migrate it and show what happened",
        discussion: """
            Makes a store of 200,000 objects in a temporary folder and migrates it within 64 MiB of memory: an
            attribute and an entity are renamed, an attribute is computed, an entity is new.
            """,
        operands: [],
        options: [
            .init("keep", .text, "DIR", help: "Keep stores, models and mapping model in a new or empty folder.")
        ],
        examples: [("stagecoach demo --keep library-demo", "look at the stores afterwards")])
}
