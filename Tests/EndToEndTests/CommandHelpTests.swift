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

                    Migrates Core Data stores from one model version to the next, out of core, within a memory limit.

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

                      -h, --help     Show help, also after a command
                      -v, --version  Show version and commit (-V, too)

                    Exit codes: 0 done, 64 usage, 65 data, 66 no input, 70 internal, 73 cannot create,
                    74 input or output, 75 interrupted or busy, 77 permission, 78 model, mapping or plan.

                    """)
        }
    }

    @Test("help of infer")
    func infer() throws {
        let outcome = try CommandBinary.run(["infer", "--help"])
        #expect(
            outcome.output == """
                Usage: stagecoach infer --from MODEL --to MODEL [OPTION]...

                Writes the mapping model, which people review, change and keep in version control, as JSON to standard
                output or to a new file.

                Options:
                      --from MODEL          The older version.
                      --to MODEL            The newer version.
                      --unmappable CHOICE   Properties that inference cannot map (another type,
                                            a relationship with less room for links or to
                                            something else): refuse (the default), or leave (an
                                            attribute has its default value or none, a
                                            relationship is empty or has the links that fit;
                                            each is named, and what stays behind is counted).
                      --like STORE|FILE     Where a MODEL is Swift sources: a store of that
                                            version of the app, an empty one is enough, or a
                                            text with the name and version hash of an entity on
                                            each line. Entities with these hashes are confirmed.
                                            May be given several times.
                  -o, --output FILE         Write to a new file instead of standard output.
                  -h, --help                Show this help.

                Example:
                  stagecoach infer --from Library.xcdatamodeld:Library --to 'Library.xcdatamodeld:Library 2' -o library.json
                      to a file

                """)
    }

    @Test("help of migrate")
    func migrate() throws {
        let outcome = try CommandBinary.run(["migrate", "-h"])
        #expect(outcome.code == 0 && outcome.messages.isEmpty)
        #expect(
            outcome.output == """
                Usage: stagecoach migrate SOURCE DESTINATION --to MODEL [OPTION]...

                Reads SOURCE, which is not changed by a byte, and writes a fresh store at DESTINATION, where nothing may
                exist yet. A run that fails or is interrupted leaves no destination. With --append it adds to the store at
                DESTINATION, in one step at the end: until then, and after a failure, that store is unchanged.

                The same command resumes a run that was killed, interrupted, or met a full disk. If an input or an option
                that matters has changed meanwhile, the command says which, and --restart begins anew.

                MODEL is an .xcdatamodel, an .xcdatamodeld or .momd (its current version), Bundle.xcdatamodeld:Version or
                Bundle.momd:Version, a .mom, a store (its cached model), or Swift sources with SwiftData's classes: a folder or
                files joined by commas (the newest version), or Folder:SchemaV2.

                Common:
                      --to MODEL            The model version to migrate to.
                      --from MODEL          The model version that wrote the store. Left out:
                                            the store's cached model, or the version in the --to
                                            bundle whose hashes match, else the one whose tables
                                            match.
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
                      --restart             Begin anew if a run to DESTINATION was interrupted,
                                            instead of resuming it.
                      --dry-run             Do everything but publish the destination.

                The result:
                      --keys CHOICE         Which keys destination rows get: auto (kept where
                                            possible), kept, or sequential.
                      --unmappable CHOICE   Properties that inference cannot map (another type,
                                            a relationship with less room for links or to
                                            something else): refuse (the default), or leave (an
                                            attribute has its default value or none, a
                                            relationship is empty or has the links that fit;
                                            each is named, and what stays behind is counted).
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

                Rejects and losses:
                      --on-invalid CHOICE   Objects that break the model's rules: fail (the
                                            first one ends the run) or reject (they are left
                                            out, and so are objects that need them).
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

                Reports and progress:
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
                      --like STORE|FILE     Where a MODEL is Swift sources: a store of that
                                            version of the app, an empty one is enough, or a
                                            text with the name and version hash of an entity on
                                            each line. Entities with these hashes are confirmed.
                                            May be given several times.
                      --unchecked CHOICE    Entities derived from Swift sources that neither
                                            SOURCE nor --like confirms: refuse (the default: no
                                            store of them is written) or allow.
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
                      --writer CHOICE       How a fresh store's rows are written: pages (faster)
                                            or sqlite, to compare the two. The rows are the
                                            same.
                      --reader CHOICE       How the source's rows are read: pages (faster;
                                            through SQLite where pages cannot be read) or
                                            sqlite, to compare the two. The rows are the same.

                  -h, --help                Show this help.

                Examples:
                  stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld
                      to the current version, by inference
                  stagecoach migrate old.sqlite new.sqlite --to 'Library.xcdatamodeld:Library 2' --mapping library.json --memory-limit 64M
                      by a mapping model, within 64 MiB
                  stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld --mapping authors.json --mapping books.json
                      by two mapping models in turn
                  stagecoach migrate second.sqlite new.sqlite --to Library.xcdatamodeld --append
                      add the objects of another store
                  stagecoach migrate old.sqlite new.sqlite --to Library.xcdatamodeld --mapping 1to2.cdm --mapping 2to3.cdm
                      from version to version

                """)
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
