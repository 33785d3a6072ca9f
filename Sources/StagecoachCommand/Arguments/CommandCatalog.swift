/// The commands of `stagecoach` with their options and examples.
package enum CommandCatalog {
    /// The program's version.
    package static let version = "0.1.0"
    /// The date of the version, shown in manual pages.
    package static let date = "2026-11-22"

    package static let all = withoutManual + [man]

    private static let withoutManual = [
        migrate, plan, check, verify, batch, mergeReports, infer, convert, model, inspect, port, policies, demo,
        completions,
    ]

    static let unmappable = OptionSpecification(
        "unmappable", .choice(["refuse", "leave"]),
        "Properties that inference cannot map (another type, a to-many that became a to-one, a relationship to something else): refuse (the default), or leave (an attribute has its default value or none, a relationship is empty; each is named, and the values that stay behind are counted)."
    )

    static let repair = OptionSpecification(
        "repair", .flag,
        "Read a missing table of a damaged store as empty, and a missing column as nil, if its metadata say which version wrote it. Each is named and counted, and the store is not changed. Left out: such a store is refused."
    )

    static let migrationOptions: [OptionSpecification] = [
        .init("to", .text("MODEL"), isRequired: true, "The model version to migrate to."),
        .init(
            "from", .text("MODEL"),
            "The model version that wrote the store. Left out: the store's cached model, or the version in the --to bundle whose hashes match, else the one whose tables match."
        ),
        .init(
            "mapping", .text("FILE"), isRepeatable: true,
            "The mapping model: JSON, .xcmappingmodel or .cdm. Given several times: those for the same two versions run one after the other, and lookups reach the previous ones; others lead from version to version, in any order, and missing steps are inferred; A..B=FILE says that FILE is for the versions A and B. Left out: inferred."
        ),
        .init(
            "via", .text("VERSION"), isRepeatable: true,
            "Go through this version of the --to bundle, or this MODEL. Given several times: in this order, and through no other version. Left out: the way with the most of the given mapping models, then the fewest steps."
        ),
        unmappable,
        .init(
            "policies", .text("LIBRARY"), isRepeatable: true,
            "Shared library with migration policies, as libMyPolicies.so; it exports stagecoach_register_policies. May be given several times. Needs stagecoach-policies beside stagecoach."
        ),
        .init(
            "memory-limit", .size,
            "Peak resident memory, as 64M or 1G. Left out: 256M, or three quarters of the cgroup's limit where that is lower."
        ),
        .init("batch-size", .count(least: 1), "Rows fetched at a time. Left out: the memory limit decides."),
        .init("work-dir", .text("DIR"), "Folder for spill files. Left out: beside the destination."),
        .init(
            "keys", .choice(["auto", "kept", "sequential"]),
            "Which keys destination rows get: auto (kept where possible), kept, or sequential."),
        .init(
            "passes", .text("CUT"),
            "Cut the work into passes: a number, or names of entity mappings as \"A,B;C\". If there are fewer tables, they are cut by key range. The result is the same. Left out: the planner decides."
        ),
        .init(
            "plan", .text("FILE"),
            "Run a plan that plan --save wrote: its passes and keys. Refused if stores, models, mapping models or options have changed since."
        ),
        .init(
            "id-map", .text("FILE"),
            "Write which source object became which destination object to a new file, NAME.csv or NAME.sqlite."),
        .init(
            "append", .flag,
            "Add to the existing store at DESTINATION, of the version given with --to. If there is none, make it."
        ),
        .init("dry-run", .flag, "Do everything but publish the destination."),
        .init(
            "restart", .flag,
            "Begin anew if a run to DESTINATION was interrupted, instead of resuming it."),
        .init(
            "strict-validation", .flag,
            "Fail on values that break a rule that the source model had too."),
        .init(
            "transformable-bytes", .flag,
            "Give policies and expressions the bytes of transformable attributes instead of the objects that their transformers make."
        ),
        .init(
            "on-invalid", .choice(["fail", "reject"]),
            "Objects that break the model's rules: fail (the first one ends the run) or reject (they are left out, and so are objects that need them)."
        ),
        .init(
            "reject-file", .text("FILE"),
            "With --on-invalid reject: write the rejected objects and why to a new file, a line of JSON each."),
        .init(
            "max-rejects", .count(least: 0),
            "With --on-invalid reject: fail if more objects are rejected. Left out: no limit."),
        .init(
            "on-loss", .choice(["warn", "refuse", "allow"]),
            "Data of SOURCE that no entity mapping reads: warn (the default: it is named and counted; a migration that would make no object at all is refused), refuse (exit code 65, before anything is written), or allow."
        ),
        .init(
            "external-threshold", .size,
            "Values of attributes that allow external storage become files above this size, as 100K. Left out: 100K."
        ),
        .init(
            "history", .choice(["auto", "keep", "drop"]),
            "The source's persistent history: auto (the default: it is carried over if all keys and entity numbers are kept), keep (with the destination's entity numbers, if all keys are kept), or drop (its tables are empty, and programs that follow it start over)."
        ),
        .init(
            "cloudkit", .choice(["refuse", "drop"]),
            "A SOURCE that CloudKit mirrors: refuse (the default: exit code 65), or drop (the destination has no state of the sync and no history; the app's next start begins the sync anew, which may duplicate what is in the cloud)."
        ),
        .init(
            "unknown-hashes", .choice(["refuse", "omit"]),
            "Version hashes that only Core Data can compute, of entities with attributes derived in an unknown form or with composites in composites: refuse (the default; a compiled .momd states them, and so does a store given with --to), or omit (the store lacks them, and Core Data takes it for one of another version)."
        ),
        repair,
        .init("new-uuid", .flag, "Give the destination a UUID of its own."),
        .init("check", .choice(["full"], name: "full"), "Run SQLite's integrity check before publishing."),
        .init(
            "report", .file(endings: ReportFormat.endings), isRepeatable: true,
            "Write a report to a new file: NAME.html (a page to read), NAME.json or NAME.csv. May be given several times. A run that fails or is interrupted writes one too, which the next run's replaces."
        ),
        .init(
            "progress", .choice(["auto", "bar", "lines", "json", "none"]),
            "auto (on a terminal one line that is redrawn, elsewhere a line every ten seconds), bar (also on a dumb terminal), lines (a line every ten seconds), json (an object a line on standard error), or none."
        ),
        .init(
            "progress-file", .text("FILE"),
            "With --progress json: add the lines to this file, which may be a pipe, instead of standard error."),
    ]

    /// Options for the ways of writing and reading rows, to compare them.
    static let writingOptions: [OptionSpecification] = [
        .init(
            "writer", .choice(["pages", "sqlite"]),
            "How a fresh store's rows are written: pages (faster) or sqlite, to compare the two. The rows are the same."
        ),
        .init(
            "reader", .choice(["pages", "sqlite"]),
            "How the source's rows are read: pages (faster; through SQLite where pages cannot be read) or sqlite, to compare the two. The rows are the same."
        ),
    ]

    static let migrate = CommandSpecification(
        name: "migrate", summary: "Migrate a store to another model version",
        discussion: """
            Reads SOURCE, which is not changed by a byte, and writes a fresh store at DESTINATION, where nothing may
            exist yet. A run that fails or is interrupted leaves no destination. With --append it adds to the store at
            DESTINATION, in one step at the end: until then, and after a failure, that store is unchanged.

            The same command resumes a run that was killed, interrupted, or met a full disk. If an input or an option
            that matters has changed meanwhile, the command says which, and --restart begins anew.

            MODEL is an .xcdatamodel, an .xcdatamodeld or .momd (its current version), Bundle.xcdatamodeld:Version or
            Bundle.momd:Version, a .mom, or a store (its cached model).
            """,
        operands: ["SOURCE", "DESTINATION"],
        options: migrationOptions + writingOptions + [
            .init(
                "profile", .flag,
                "Print on standard error, and in the report, what each stage and entity mapping took: seconds and bytes."
            ),
            .init("json", .flag, "Print the report as JSON instead of the summary."),
        ],
        examples: [
            ("old.sqlite new.sqlite --to Library.xcdatamodeld", "to the current version, by inference"),
            (
                "old.sqlite new.sqlite --to 'Library.xcdatamodeld:Library 2' --mapping library.json --memory-limit 64M",
                "by a mapping model, within 64 MiB"
            ),
            (
                "old.sqlite new.sqlite --to Library.xcdatamodeld --mapping authors.json --mapping books.json",
                "by two mapping models in turn"
            ),
            ("second.sqlite new.sqlite --to Library.xcdatamodeld --append", "add the objects of another store"),
            (
                "old.sqlite new.sqlite --to Library.xcdatamodeld --mapping 1to2.cdm --mapping 2to3.cdm",
                "from version to version"
            ),
        ])

    static let plan = CommandSpecification(
        name: "plan", summary: "Show the passes, tables and keys of a migration",
        discussion: """
            Takes the arguments of migrate and prints which path each entity mapping takes and why, how the links of each
            relationship are found, the passes, their tables, the keys of each, and the disk space that is needed. Nothing
            is written, neither beside SOURCE nor beside DESTINATION.

            A saved plan may be reviewed, and its passes and the keys of its tables changed; migrate --plan runs it.
            """,
        operands: ["SOURCE", "DESTINATION"],
        options: migrationOptions + [
            .init(
                "format", .choice(["text", "json", "dot"], name: "FORMAT"),
                "text, json, or dot: a graph for Graphviz."),
            .init("save", .file(endings: [".json"]), "Write the plan to a new file, NAME.json, for migrate --plan."),
        ],
        examples: [
            ("old.sqlite new.sqlite --to Library.xcdatamodeld", "what migrate would do"),
            (
                "old.sqlite new.sqlite --to Library.xcdatamodeld --save plan.json",
                "a plan to review, for migrate --plan plan.json"
            ),
            ("old.sqlite new.sqlite --to Library.xcdatamodeld --format dot | dot -Tsvg -o plan.svg", "a picture of it"),
        ])

    static let check = CommandSpecification(
        name: "check", summary: "Count what breaks the new model's rules, without migrating",
        discussion: """
            Takes the arguments of migrate, does all of its work on temporary files, policies included, and counts the
            objects that break a rule of the destination model: by entity, property and rule, with the first ids.
            DESTINATION may be left out. It is read with --append only, and never changed. Work files go to the folder for
            temporary files or to --work-dir and are removed.

            Data of SOURCE that the migration would leave behind is named and counted, too.

            The exit code is 0 if a migration with the same arguments would fail neither because of its objects nor because
            of the data that it leaves behind (--on-loss), else 65.
            """,
        operands: ["SOURCE", "DESTINATION"], optionalOperands: 1,
        options: migrationOptions + [.init("json", .flag, "Print one JSON object.")],
        examples: [("old.sqlite --to Library.xcdatamodeld", "what would keep the store from migrating")])

    static let infer = CommandSpecification(
        name: "infer", summary: "Infer the mapping model between two model versions",
        discussion: """
            Writes the mapping model, which people review, change and keep in version control, as JSON to standard
            output or to a new file.
            """,
        operands: [],
        options: [
            .init("from", .text("MODEL"), isRequired: true, "The older version."),
            .init("to", .text("MODEL"), isRequired: true, "The newer version."),
            unmappable,
            .init("output", letter: "o", .text("FILE"), "Write to a new file instead of standard output."),
        ],
        examples: [
            ("--from Library.xcdatamodeld:Library --to 'Library.xcdatamodeld:Library 2' -o library.json", "to a file")
        ])

    static let convert = CommandSpecification(
        name: "convert", summary: "Write a mapping model of any form as JSON",
        discussion: """
            MAPPING is Xcode's .xcmappingmodel (or the xcmapping.xml in it), a compiled .cdm, or JSON. With the two models
            everything is filled in. Without them, parts that depend on them are left open ("convertedFrom" in the JSON)
            until the JSON is read with them. JSON that leaves out properties needs them.
            """,
        operands: ["MAPPING"],
        options: [
            .init("from", .text("MODEL"), "The version that it migrates from."),
            .init("to", .text("MODEL"), "The version that it migrates to."),
            .init("output", letter: "o", .text("FILE"), "Write to a new file instead of standard output."),
        ],
        examples: [
            (
                "Library1to2.xcmappingmodel --from Library.xcdatamodeld:Library --to 'Library.xcdatamodeld:Library 2' -o library.json",
                "to a file"
            ),
            ("Library1to2.cdm", "to look at it"),
        ])

    static let model = CommandSpecification(
        name: "model", summary: "Write the model of a store as Xcode keeps it",
        discussion: """
            MODEL is a store (its cached model, as every SwiftData store has one), a compiled model (.mom, .momd,
            Bundle.momd:Version) or a model of Xcode. The written model has the same version hashes. Parts for which
            Xcode's form has no place are named on standard error. No existing file is replaced.
            """,
        operands: ["MODEL"],
        options: [
            .init(
                "output", letter: "o", .text("PATH"),
                "A new NAME.xcdatamodel, a new NAME.xcdatamodeld (all versions of a .momd, with its current one), or a new file called contents. Left out: the XML goes to standard output."
            )
        ],
        examples: [
            ("default.store -o Trips.xcdatamodel", "the model of a SwiftData store, to edit by hand"),
            ("Library.momd -o Library.xcdatamodeld", "the versions of an app"),
            ("'Library.momd:Library 2' | less", "to look at one of them"),
        ])

    static let inspect = CommandSpecification(
        name: "inspect", summary: "Show what a store, a model or a mapping model holds",
        discussion: """
            PATH is a store, a model (.xcdatamodel, .xcdatamodeld, .mom, .momd, Bundle.xcdatamodeld:Version,
            Bundle.momd:Version) or a mapping model (.xcmappingmodel, .cdm, JSON). Nothing is changed.

            With --fidelity PATH is a store, and its tables, indexes and triggers, metadata, entity numbers and keys are
            compared with what Core Data makes for its model. The exit code is 0 if all are equal, else 65. With --source the
            store from which it was migrated is a second witness: its names, indexes and triggers for the same entities and
            relationships are better evidence than rules, and places where the two disagree are named.
            """,
        operands: ["PATH"],
        options: [
            .init(
                "fidelity", .flag,
                "Compare a store with what its model predicts, and list each difference."),
            .init(
                "model", .text("MODEL"),
                "An .xcdatamodeld or .momd: say which of its versions wrote the store, and how that is known. With --fidelity: the version that wrote the store. Left out: the store's cached model."
            ),
            .init(
                "source", .text("STORE"),
                "With --fidelity: the store that it was migrated from, which is compared with too."),
            .init(
                "repair", .flag,
                "Count the objects of a damaged store as a command with --repair reads them."),
            .init("json", .flag, "Print one JSON object."),
        ],
        examples: [
            ("old.sqlite", "version, entities, rows"),
            ("--fidelity new.sqlite", "what differs from a store that Core Data made"),
            ("old.sqlite --model Library.xcdatamodeld", "which of the versions wrote it"),
            ("Library.xcdatamodeld", "entities, properties, version hashes"),
        ])

    static let port = CommandSpecification(
        name: "port", summary: "List what to change in policy sources for Linux",
        discussion: """
            DIR holds Swift sources of migration policies written for Core Data. Each place that does not compile on
            Linux is listed with what takes its place, then the types that no source declares, a skeleton in Swift for
            each Objective-C policy, and the statements that register the policies and the functions that value
            expressions call. Nothing is changed; --apply writes ported copies.
            """,
        operands: ["DIR"],
        options: [
            .init(
                "apply", letter: "o", .text("FOLDER"),
                "Write ported copies to a new or empty folder, with the registrations, a stub for each type that no source declares, and a skeleton for each Objective-C policy."
            ),
            .init(
                "mapping", .text("FILE"), isRepeatable: true,
                "A mapping model: functions that its expressions call and that no source has are listed, and skeletons have the called ones only. May be given several times."
            ),
            .init("json", .flag, "Print one JSON object."),
        ],
        examples: [
            ("Migrations", "what must change, and the registrations"),
            ("Migrations --apply Sources/MyPolicies", "sources that compile"),
        ])

    static let policies = CommandSpecification(
        name: "policies", summary: "Check a shared library of policies",
        discussion: """
            Says which Swift built LIBRARY, which of the libraries that it needs the loader does not find, and which
            policies and functions it registers. It is loaded for that, as --policies loads it; nothing is migrated.

            The exit code is 0 where a migration on this host can use it, else 78.
            """,
        operands: [PoliciesCommand.action, "LIBRARY"],
        options: [.init("json", .flag, "Print one JSON object.")],
        examples: [("check libMyPolicies.so", "before it is used, on the host that will use it")])

    static let demo = CommandSpecification(
        name: "demo", summary: "Make a store, migrate it and show what happened",
        discussion: """
            Makes a store of 200,000 objects in a temporary folder and migrates it within 64 MiB of memory: an
            attribute and an entity are renamed, an attribute is computed, an entity is new.
            """,
        operands: [],
        options: [
            .init("keep", .text("DIR"), "Keep stores, models and mapping model in a new or empty folder."),
            .init("memory-limit", .size, "Peak resident memory, as 128M or 1G. Left out: 64M."),
        ],
        examples: [("--keep library-demo", "look at the stores afterwards")])

    static let completions = CommandSpecification(
        name: "completions", summary: "Write completions for a shell",
        discussion: """
            Writes a script to standard output that lets SHELL, which is bash, zsh or fish, complete commands, options
            and their values.
            """,
        operands: ["SHELL"], operandWords: CompletionScript.shells, options: [],
        examples: [
            ("bash > ~/.local/share/bash-completion/completions/stagecoach", "for bash, from the next shell on"),
            ("zsh > /usr/local/share/zsh/site-functions/_stagecoach", "for zsh"),
            ("fish > ~/.config/fish/completions/stagecoach.fish", "for fish"),
        ])

    static let man = CommandSpecification(
        name: "man", summary: "Write a manual page",
        discussion: "Writes the manual page of stagecoach, or of one COMMAND, to standard output.",
        operands: ["COMMAND"], optionalOperands: 1,
        operandWords: withoutManual.map(\.name) + ["man"],
        options: [],
        examples: [
            ("| man -l -", "read it"),
            ("migrate > /usr/local/share/man/man1/stagecoach-migrate.1", "install one"),
        ])
}
