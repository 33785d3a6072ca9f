import Foundation
import StagecoachCommand
import Testing

@Suite("Help of the built command")
struct CommandHelpTests {
    @Test("the overview lists the commands that are there")
    func overview() throws {
        for flag in ["--help", "-h"] {
            let outcome = try CommandBinary.run([flag])
            #expect(outcome.code == 0 && outcome.messages.isEmpty)
            #expect(
                outcome.output == """
                    Usage: stagecoach COMMAND [OPTION]... [OPERAND]...

                    Migrates Core Data stores from one model version to the next, out of core,
                    within a memory limit.

                    Commands:
                      migrate        Migrate a store to another model version
                      plan           Show the passes, tables and keys of a migration
                      check          Count what breaks the new model's rules, without migrating
                      explain        Explain what a migration makes of one object
                      verify         Compare a destination with what its migration makes
                      batch          Migrate many stores
                      merge-reports  Add up the results of a batch's shares
                      infer          Infer the mapping model between two model versions
                      convert        Write a mapping model of any form as JSON
                      model          Write the model of a store as Xcode keeps it
                      inspect        Show what a store, a model or a mapping model holds
                      show           Show objects of a store
                      port           List what to change in policy sources for Linux
                      policies       Check a shared library of policies
                      demo           Make a store, migrate it and show what happened
                      completions    Write completions for a shell
                      man            Write a manual page

                      -h, --help     Show help. After a command, -h fits on a screen and --help
                                     tells all
                      -v, --version  Show version and commit (-V, too)

                    Exit codes: 0 done, 64 usage, 65 data, 66 no input, 70 internal, 73 cannot
                    create, 74 input or output, 75 interrupted or busy, 77 permission, 78 model,
                    mapping or plan.

                    """)
        }
    }

    @Test("help of infer")
    func infer() throws {
        let outcome = try CommandBinary.run(["infer", "--help"])
        #expect(
            outcome.output == """
                Usage: stagecoach infer --from MODEL --to MODEL [OPTION]...

                Writes the mapping model, which people review, change and keep in version
                control, as JSON to standard output or to a new file.

                Options:
                      --from MODEL          The older version. Several are merged.
                      --to MODEL            The newer version. Several are merged, as Core Data
                                            merges the models of an app: an entity that several
                                            define alike counts once.
                      --set LINE            Change one line of the mapping model, inferred or
                                            given: 'Order.note=$source.memo' (the property gets
                                            this expression), Customer=Client (Customer is made
                                            from the source entity Client), or Order.memo= (it
                                            is meant to stay behind). May be given several
                                            times; infer --set writes it down.
                      --unmappable CHOICE   Properties that inference cannot map (another type,
                                            a relationship with less room for links or to
                                            something else): refuse (the default), convert
                                            (attributes are converted where no value loses
                                            anything, as numbers to text; the others are
                                            refused), or leave (an attribute has its default
                                            value or none, a relationship is empty or has the
                                            links that fit; each is named, and what stays behind
                                            is counted).
                      --like STORE|FILE     Where a MODEL is Swift sources: a store of that
                                            version of the app, an empty one is enough, or a
                                            text with the name and version hash of an entity on
                                            each line. Entities with these hashes are confirmed.
                                            May be given several times.
                      --template            Map all that can be mapped, and write null with a
                                            "why" where you must decide: properties that
                                            inference cannot map, and new ones that need a
                                            value. The file is read as it is; replace what you
                                            decide.
                  -o, --output FILE         Write to a new file instead of standard output.
                  -h, --help                Show help: -h fits on a screen, --help explains
                                            every option.

                Examples:
                  stagecoach infer --from Library.xcdatamodeld:Library \\
                      --to 'Library.xcdatamodeld:Library 2' -o library.json
                      to a file
                  stagecoach infer --from Library.xcdatamodeld:Library \\
                      --to 'Library.xcdatamodeld:Library 2' --template
                      with the open places, and what to decide of each

                """)
    }

    @Test("help of migrate")
    func migrate() throws {
        let outcome = try CommandBinary.run(["migrate", "--help"])
        #expect(outcome.code == 0 && outcome.messages.isEmpty)
        #expect(
            outcome.output == """
                Usage: stagecoach migrate SOURCE DESTINATION --to MODEL [OPTION]...

                Reads SOURCE, which is not changed by a byte, and writes a fresh store at
                DESTINATION, where nothing may exist yet. A run that fails or is interrupted
                leaves no destination. With --append it adds to the store at DESTINATION, in one
                step at the end: until then, and after a failure, that store is unchanged.

                The same command resumes a run that was killed, interrupted, or met a full disk.
                If an input or an option that matters has changed meanwhile, the command says
                which, and --restart begins anew.

                MODEL is an .xcdatamodel, an .xcdatamodeld or .momd (its current version),
                Bundle.xcdatamodeld:Version or Bundle.momd:Version, a .mom, a store (its cached
                model), or Swift sources with SwiftData's classes: a folder or files joined by
                commas (the newest version), or Folder:SchemaV2.

                Common:
                      --to MODEL            The model version to migrate to. Several are merged,
                                            as Core Data merges the models of an app: an entity
                                            that several define alike counts once.
                      --from MODEL          The model version that wrote the store. Left out:
                                            the store's cached model, or the version in the --to
                                            bundle whose hashes match, else the one whose tables
                                            match. Several are merged.
                      --mapping FILE        The mapping model: JSON, .xcmappingmodel or .cdm.
                                            Given several times: those for the same two versions
                                            run one after the other, and lookups reach the
                                            previous ones; others lead from version to version,
                                            in any order, and missing steps are inferred;
                                            A..B=FILE says that FILE is for the versions A and
                                            B. Left out: inferred.
                      --policies LIBRARY    Shared library with migration policies, as
                                            libMyPolicies.so; it exports
                                            stagecoach_register_policies. May be given several
                                            times. Needs stagecoach-policies beside stagecoach.
                      --append              Add to the existing store at DESTINATION, of the
                                            version given with --to. If there is none, make it.
                      --dry-run             Do everything but publish the destination.

                The result:
                      --set LINE            Change one line of the mapping model, inferred or
                                            given: 'Order.note=$source.memo' (the property gets
                                            this expression), Customer=Client (Customer is made
                                            from the source entity Client), or Order.memo= (it
                                            is meant to stay behind). May be given several
                                            times; infer --set writes it down.
                      --match RULE          With --append, an entity of the destination and its
                                            keys, as Book=isbn or Person=name,birthday: an
                                            object that would become one of the entity becomes
                                            the row of the destination with the same keys. The
                                            row stays as it is; links to the object lead to it.
                                            May be given several times. In a mapping file:
                                            "matchBy".
                      --on-match CHOICE     What becomes of a row that an object of --match
                                            becomes: keep (the default: it stays as it is, and
                                            new members come under it).
                      --keys CHOICE         Which keys destination rows get: auto (kept where
                                            possible), kept, or sequential.
                      --unmappable CHOICE   Properties that inference cannot map (another type,
                                            a relationship with less room for links or to
                                            something else): refuse (the default), convert
                                            (attributes are converted where no value loses
                                            anything, as numbers to text; the others are
                                            refused), or leave (an attribute has its default
                                            value or none, a relationship is empty or has the
                                            links that fit; each is named, and what stays behind
                                            is counted).
                      --id-map FILE         Write which source object became which destination
                                            object to a new file, NAME.csv or NAME.sqlite.
                      --external-threshold SIZE
                                            Values of attributes that allow external storage
                                            become files above this size, as 100K. Left out:
                                            100K.
                      --history CHOICE      The source's persistent history: auto (the default:
                                            it is carried over if all keys and entity numbers
                                            are kept), keep (with the destination's entity
                                            numbers, if all keys are kept), or drop (its tables
                                            are empty, and programs that follow it start over).
                      --cloudkit CHOICE     A SOURCE that CloudKit mirrors: refuse (the default:
                                            exit code 65), or drop (the destination has no state
                                            of the sync and no history; the app's next start
                                            begins the sync anew, which may duplicate what is in
                                            the cloud).
                      --new-uuid            Give the destination a UUID of its own.
                      --like STORE|FILE     Where a MODEL is Swift sources: a store of that
                                            version of the app, an empty one is enough, or a
                                            text with the name and version hash of an entity on
                                            each line. Entities with these hashes are confirmed.
                                            May be given several times.
                      --unchecked CHOICE    Entities derived from Swift sources that neither
                                            SOURCE nor --like confirms: refuse (the default: no
                                            store of them is written) or allow.
                      --destination-type CHOICE
                                            The type of store to make: sqlite (the default), or
                                            xml or binary, for models whose attributes are
                                            Integer, Boolean, String, Date and Binary, and Float
                                            for xml.

                Memory and disk:
                      --memory-limit SIZE   Peak resident memory, as 64M or 1G. Left out: 256M,
                                            or three quarters of the cgroup's limit where that
                                            is lower.
                      --batch-size N        Rows fetched at a time. Left out: the memory limit
                                            decides.
                      --work-dir DIR        Folder for spill files. Left out: beside the
                                            destination.
                      --passes CUT          Cut the work into passes: a number, or names of
                                            entity mappings as "A,B;C". If there are fewer
                                            tables, they are cut by key range. The result is the
                                            same. Left out: the planner decides.

                Rejects, losses:
                      --on-invalid CHOICE   Objects that break the model's rules: fail (the
                                            first one ends the run), reject (they are left out,
                                            and so are objects that need them), or merge
                                            (without --mapping: those with the same values in a
                                            new uniqueness constraint become one, the first;
                                            others end the run).
                      --reject-file FILE    With --on-invalid reject: write the rejected objects
                                            and why to a new file, a line of JSON each.
                      --max-rejects N       With --on-invalid reject: fail if more objects are
                                            rejected. Left out: no limit.
                      --on-loss CHOICE      Data of SOURCE that no entity mapping reads and that
                                            is not meant to stay behind (--allow-loss): warn
                                            (the default: it is named and counted; a migration
                                            that would make no object at all is refused), refuse
                                            (exit code 65, before anything is written), or
                                            allow.
                      --allow-loss NAME     Data of SOURCE that may stay behind: Entity.property
                                            (values or links), or Entity (objects that become
                                            nothing), subentities included. It is named as left
                                            out on purpose, and --on-loss refuse guards the
                                            rest. May be given several times. "losses" in a JSON
                                            mapping model says the same.
                      --strict-validation   Fail on values that break a rule that the source
                                            model had too.
                      --repair              Read a missing table of a damaged store as empty,
                                            and a missing column as nil, if its metadata say
                                            which version wrote it. Each is named and counted,
                                            and the store is not changed. Left out: such a store
                                            is refused.

                Reports, progress:
                      --report FILE         Write a report to a new file: NAME.html (a page to
                                            read), NAME.json or NAME.csv. May be given several
                                            times. A run that fails or is interrupted writes one
                                            too, which the next run's replaces.
                      --metrics FILE        Write figures for a collector to this file, as
                                            OpenMetrics text: rows, bytes, seconds by phase,
                                            peak memory, spills, losses, exit code. It is
                                            replaced as a whole every two seconds while the
                                            command runs, and at its end, and replaces one of an
                                            earlier run.
                      --progress CHOICE     auto (on a terminal one line that is redrawn,
                                            elsewhere a line every ten seconds), bar (also on a
                                            dumb terminal), lines (a line every ten seconds),
                                            json (an object a line on standard error), or none.
                      --progress-file FILE  With --progress json: add the lines to this file,
                                            which may be a pipe, instead of standard error.
                      --restart             Begin anew if a run to DESTINATION was interrupted,
                                            instead of resuming it.
                      --profile             Print on standard error, and in the report, what
                                            each stage and entity mapping took: seconds and
                                            bytes.
                      --json                Print the report as JSON instead of the summary.

                For experts:
                      --via VERSION         Go through this version of the --to bundle, or this
                                            MODEL. Given several times: in this order, and
                                            through no other version. Left out: the way with the
                                            most of the given mapping models, then the fewest
                                            steps.
                      --unmapped-stages CHOICE
                                            Custom stages of a SchemaMigrationPlan that no
                                            mapping model stands for (--mapping
                                            'SchemaV1..SchemaV2=FILE'): refuse (the default) or
                                            structure (they are migrated as lightweight ones:
                                            their code does not run).
                      --plan FILE           Run a plan that plan --save wrote: its passes and
                                            keys. Refused if stores, models, mapping models or
                                            options have changed since.
                      --transformable-bytes
                                            Give policies and expressions the bytes of
                                            transformable attributes instead of the objects that
                                            their transformers make.
                      --unknown-hashes CHOICE
                                            Version hashes that only Core Data can compute, of
                                            entities with attributes derived in an unknown form
                                            or with composites in composites: refuse (the
                                            default; a compiled .momd states them, and so does a
                                            store given with --to), or omit (the store lacks
                                            them, and Core Data takes it for one of another
                                            version).
                      --check full          Run SQLite's integrity check before publishing.
                      --source-type CHOICE  The type that SOURCE must have. Left out: what its
                                            first bytes say.
                      --writer CHOICE       How a fresh store's rows are written: pages (faster)
                                            or sqlite, to compare the two. The rows are the
                                            same.
                      --reader CHOICE       How the source's rows are read: pages (faster;
                                            through SQLite where pages cannot be read) or
                                            sqlite, to compare the two. The rows are the same.

                  -h, --help                Show help: -h fits on a screen, --help explains
                                            every option.

                Examples:
                  stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld
                      to the current version, by inference
                  stagecoach migrate old.sqlite new.sqlite \\
                      --to 'Library.xcdatamodeld:Library 2' --mapping library.json \\
                      --memory-limit 64M
                      by a mapping model, within 64 MiB
                  stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld \\
                      --mapping authors.json --mapping books.json
                      by two mapping models in turn
                  stagecoach migrate second.sqlite new.sqlite --to Library.xcdatamodeld \\
                      --append
                      add the objects of another store
                  stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld \\
                      --mapping 1to2.cdm --mapping 2to3.cdm
                      from version to version

                """)
    }

    @Test("-h fits on a screen")
    func brief() throws {
        #expect(
            try CommandBinary.run(["migrate", "-h"]).output == """
                Usage: stagecoach migrate SOURCE DESTINATION --to MODEL [OPTION]...

                Migrate a store to another model version.

                      --to MODEL            The model version to migrate to
                      --from MODEL          The model version that wrote the store
                      --mapping FILE        The mapping model: JSON, .xcmappingmodel or .cdm
                      --policies LIBRARY    Shared library with migration policies
                      --append              Add to the existing store at DESTINATION
                      --dry-run             Do everything but publish the destination
                The result:         --set, --match, --on-match, --keys, --unmappable, --id-map,
                                    --external-threshold, --history, --cloudkit, --new-uuid,
                                    --like, --unchecked, --destination-type
                Memory and disk:    --memory-limit, --batch-size, --work-dir, --passes
                Rejects, losses:    --on-invalid, --reject-file, --max-rejects, --on-loss,
                                    --allow-loss, --strict-validation, --repair
                Reports, progress:  --report, --metrics, --progress, --progress-file, --restart,
                                    --profile, --json
                For experts:        --via, --unmapped-stages, --plan, --transformable-bytes,
                                    --unknown-hashes, --check, --source-type, --writer, --reader

                Example:
                  stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld
                'stagecoach migrate --help' explains every option.

                """)
        for command in CommandCatalog.all {
            let outcome = try CommandBinary.run([command.name, "-h"])
            #expect(outcome.code == 0 && outcome.messages.isEmpty)
            let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            #expect(
                lines.count <= 24 && lines.allSatisfy { $0.count <= 80 || $0.hasPrefix("  stagecoach ") },
                "\(outcome.output)")
            for option in command.options { #expect(outcome.output.contains("--" + option.name)) }
        }
    }

    @Test("Help folds at COLUMNS; example command lines can be pasted", arguments: [60, 100])
    func columns(width: Int) throws {
        for command in ["migrate", "show", "completions"] {
            let outcome = try CommandBinary.run([command, "--help"], environment: ["COLUMNS": "\(width)"])
            let examples = outcome.output.split(separator: "\nExample")
            #expect(examples[0].split(separator: "\n").allSatisfy { $0.count <= width }, "\(outcome.output)")
            if width == 60, command == "migrate" {
                #expect(examples[1].contains("new.sqlite \\\n      --to Library.xcdatamodeld"), "\(examples[1])")
            }
        }
    }

    /// Options of `migrate` that ask for a file or say how to run, with a value; and the commands that take its other options,
    /// without them.
    private static let refused: [(command: String, option: [String])] = [
        ("verify", ["--report", "r.html"]), ("verify", ["--report", "r.json"]), ("verify", ["--id-map", "ids.csv"]),
        ("plan", ["--report", "r.html"]), ("plan", ["--id-map", "ids.csv"]), ("plan", ["--metrics", "m.prom"]),
        ("plan", ["--progress-file", "p.jsonl", "--progress", "json"]),
        ("plan", ["--reject-file", "x.jsonl", "--on-invalid", "reject"]), ("explain", ["--report", "r.html"]),
        ("explain", ["--id-map", "ids.csv"]), ("explain", ["--metrics", "m.prom"]),
        ("explain", ["--progress-file", "p.jsonl", "--progress", "json"]),
        ("explain", ["--reject-file", "x.jsonl", "--on-invalid", "reject"]), ("check", ["--id-map", "ids.csv"]),
        ("check", ["--reject-file", "x.jsonl", "--on-invalid", "reject"]), ("plan", ["--restart"]),
        ("explain", ["--dry-run"]),
    ]

    @Test("An option that a command would not honour is refused, with the commands that take it", arguments: refused)
    func unhonoured(command: String, option: [String]) throws {
        let operands = ["verify": ["a", "b"], "plan": ["a", "b"], "explain": ["a", "A/p1"], "check": ["a"]]
        let outcome = try CommandBinary.run(
            [command] + (operands[command] ?? []) + ["--to", "M.xcdatamodeld"] + option)
        #expect(outcome.code == 64 && outcome.output.isEmpty)
        #expect(
            outcome.messages.contains("unknown option '\(option[0])'; it is an option of migrate"),
            "\(outcome.messages)")
        #expect(!(try CommandBinary.run([command, "--help"]).output.contains(option[0] + " ")))
    }

    @Test("An option for a file that a command takes makes the file")
    func honoured() throws {
        let text = VersionedInputs.text("a")
        let inputs = try VersionedInputs(
            VersionedInputs.entity("A", text), VersionedInputs.entity("A", text, VersionedInputs.text("b"))
        ) { $0.insert("A", 1, ["a": .text("x")]) }
        #expect(try inputs.run(["migrate", "old.sqlite", "new.sqlite"]).code == 0)
        for command in ["migrate", "plan", "check", "verify"] {
            let known = try #require(CommandCatalog.all.first { $0.name == command })
            for (name, more) in [
                ("report", []), ("metrics", []), ("id-map", []), ("reject-file", ["--on-invalid", "reject"]),
                ("progress-file", ["--progress", "json"]), ("save", []),
            ] where known.options.contains(where: { $0.name == name }) && (command, name) != ("verify", "reject-file") {
                let file = "\(command)-\(name)" + (["report", "save"].contains(name) ? ".json" : ".csv")
                let paths =
                    command == "check"
                    ? ["old.sqlite"] : ["old.sqlite", command == "verify" ? "new.sqlite" : file + ".new"]
                let outcome = try inputs.run([command] + paths, ["--" + name, file] + more)
                #expect(outcome.code == 0, "\(outcome.messages)")
                #expect(FileManager.default.fileExists(atPath: inputs.folder.file(file)), "\(command) --\(name)")
            }
        }
    }

    @Test("every command has help, and the version is said")
    func others() throws {
        #expect(try CommandBinary.run(["help"]).output == CommandBinary.run(["--help"]).output)
        #expect(try CommandBinary.run(["help", "migrat"]).messages.contains("did you mean 'migrate'?"))
        for command in ["plan", "check", "inspect", "demo", "batch", "merge-reports", "verify", "policies", "man"] {
            let outcome = try CommandBinary.run([command, "--help"])
            #expect(try CommandBinary.run(["help", command]).output == outcome.output)
            #expect(outcome.code == 0 && outcome.output.hasPrefix("Usage: stagecoach \(command)"))
            #expect(outcome.output.contains("\n  stagecoach \(command) "))
        }
        for flag in ["--version", "-v", "-V"] {
            let version = try CommandBinary.run([flag]).output
            #expect(version.wholeMatch(of: /stagecoach 0\.1\.0 \((development build|commit [0-9a-z-]+)\)\n/) != nil)
        }
    }

    @Test("a usage error goes to standard error, with exit code 64")
    func usage() throws {
        let outcome = try CommandBinary.run(["migrate", "a", "b", "--tp", "c"])
        #expect(outcome.code == 64 && outcome.output.isEmpty)
        #expect(
            outcome.messages
                == "stagecoach: unknown option '--tp'; did you mean '--to'?\nTry 'stagecoach migrate --help'.\n")
    }
}
