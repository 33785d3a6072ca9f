extension CommandCatalog {
    /// The commands of stagecoach, in the order in which help lists them, for CommandTable to read.
    ///
    /// = NAME SUMMARY            a command; plain lines below it are its description
    /// < OPERAND [OPTIONAL]...   its operands; dots behind the last one: it may be repeated
    /// -x, --NAME VALUE          an option, with its help on the next line. VALUE is left out for a flag; N>=1 is a number, N>=1|all
    ///                           a number or this word, SIZE a size, NAME=a|b one of some words, FILE=.a|.b a file's name with one of these endings, any other
    ///                           word a text. "required" and "repeatable" may follow.
    /// $ ARGUMENTS               an example, with its effect on the next line
    /// & NAME                    a group of options that several commands take
    /// @ NAME OPTION...          the options of a group, or the ones that are named
    /// @ NAME but OPTION...      the options of a group without the ones that are named
    /// % HEADING                the heading of the options below it, up to the next command or group: common (also without one),
    ///                           result, memory, rejects, reports or expert
    static let text = #"""
        & migration
        % common
        --to MODEL required repeatable
          The model version to migrate to. Several are merged, as Core Data merges the models of an app: an entity that several define alike counts once.
        --from MODEL repeatable
          The model version that wrote the store. Left out: the store's cached model, or the version in the --to bundle whose hashes match, else the one whose tables match. Several are merged.
        --mapping FILE repeatable
          The mapping model: JSON, .xcmappingmodel or .cdm. Given several times: those for the same two versions run one after the other, and lookups reach the previous ones; others lead from version to version, in any order, and missing steps are inferred; A..B=FILE says that FILE is for the versions A and B. Left out: inferred.
        --policies LIBRARY repeatable
          Shared library with migration policies, as libMyPolicies.so; it exports stagecoach_register_policies. May be given several times. Needs stagecoach-policies beside stagecoach.
        --append
          Add to the existing store at DESTINATION, of the version given with --to. If there is none, make it.
        --dry-run
          Do everything but publish the destination.
        % result
        --set LINE repeatable
          Change one line of the mapping model, inferred or given: 'Order.note=$source.memo' (the property gets this expression), Customer=Client (Customer is made from the source entity Client), or Order.memo= (it is meant to stay behind). May be given several times; infer --set writes it down.
        --match RULE repeatable
          With --append, an entity of the destination and its keys, as Book=isbn or Person=name,birthday: an object that would become one of the entity becomes the row of the destination with the same keys. The row stays as it is; links to the object lead to it. May be given several times. In a mapping file: "matchBy".
        --on-match CHOICE=keep
          What becomes of a row that an object of --match becomes: keep (the default: it stays as it is, and new members come under it).
        --keys CHOICE=auto|kept|sequential
          Which keys destination rows get: auto (kept where possible), kept, or sequential.
        --unmappable CHOICE=refuse|convert|leave
          Properties that inference cannot map (another type, a relationship with less room for links or to something else): refuse (the default), convert (attributes are converted where no value loses anything, as numbers to text; the others are refused), or leave (an attribute has its default value or none, a relationship is empty or has the links that fit; each is named, and what stays behind is counted).
        --id-map FILE
          Write which source object became which destination object to a new file, NAME.csv or NAME.sqlite.
        --external-threshold SIZE
          Values of attributes that allow external storage become files above this size, as 100K. Left out: 100K.
        --history CHOICE=auto|keep|drop
          The source's persistent history: auto (the default: it is carried over if all keys and entity numbers are kept), keep (with the destination's entity numbers, if all keys are kept), or drop (its tables are empty, and programs that follow it start over).
        --cloudkit CHOICE=refuse|drop
          A SOURCE that CloudKit mirrors: refuse (the default: exit code 65), or drop (the destination has no state of the sync and no history; the app's next start begins the sync anew, which may duplicate what is in the cloud).
        --new-uuid
          Give the destination a UUID of its own.
        --like STORE|FILE repeatable
          Where a MODEL is Swift sources: a store of that version of the app, an empty one is enough, or a text with the name and version hash of an entity on each line. Entities with these hashes are confirmed. May be given several times.
        --unchecked CHOICE=refuse|allow
          Entities derived from Swift sources that neither SOURCE nor --like confirms: refuse (the default: no store of them is written) or allow.
        % memory
        --memory-limit SIZE
          Peak resident memory, as 64M or 1G. Left out: 256M, or three quarters of the cgroup's limit where that is lower.
        --batch-size N>=1
          Rows fetched at a time. Left out: the memory limit decides.
        --work-dir DIR
          Folder for spill files. Left out: beside the destination.
        --passes CUT
          Cut the work into passes: a number, or names of entity mappings as "A,B;C". If there are fewer tables, they are cut by key range. The result is the same. Left out: the planner decides.
        % rejects
        --on-invalid CHOICE=fail|reject|merge
          Objects that break the model's rules: fail (the first one ends the run), reject (they are left out, and so are objects that need them), or merge (without --mapping: those with the same values in a new uniqueness constraint become one, the first; others end the run).
        --reject-file FILE
          With --on-invalid reject: write the rejected objects and why to a new file, a line of JSON each.
        --max-rejects N>=0
          With --on-invalid reject: fail if more objects are rejected. Left out: no limit.
        --on-loss CHOICE=warn|refuse|allow
          Data of SOURCE that no entity mapping reads and that is not meant to stay behind (--allow-loss): warn (the default: it is named and counted; a migration that would make no object at all is refused), refuse (exit code 65, before anything is written), or allow.
        --allow-loss NAME repeatable
          Data of SOURCE that may stay behind: Entity.property (values or links), or Entity (objects that become nothing), subentities included. It is named as left out on purpose, and --on-loss refuse guards the rest. May be given several times. "losses" in a JSON mapping model says the same.
        --strict-validation
          Fail on values that break a rule that the source model had too.
        --repair
          Read a missing table of a damaged store as empty, and a missing column as nil, if its metadata say which version wrote it. Each is named and counted, and the store is not changed. Left out: such a store is refused.
        % reports
        --report FILE=.html|.json|.csv repeatable
          Write a report to a new file: NAME.html (a page to read), NAME.json or NAME.csv. May be given several times. A run that fails or is interrupted writes one too, which the next run's replaces.
        --metrics FILE
          Write figures for a collector to this file, as OpenMetrics text: rows, bytes, seconds by phase, peak memory, spills, losses, exit code. It is replaced as a whole every two seconds while the command runs, and at its end, and replaces one of an earlier run.
        --progress CHOICE=auto|bar|lines|json|none
          auto (on a terminal one line that is redrawn, elsewhere a line every ten seconds), bar (also on a dumb terminal), lines (a line every ten seconds), json (an object a line on standard error), or none.
        --progress-file FILE
          With --progress json: add the lines to this file, which may be a pipe, instead of standard error.
        --restart
          Begin anew if a run to DESTINATION was interrupted, instead of resuming it.
        % expert
        --via VERSION repeatable
          Go through this version of the --to bundle, or this MODEL. Given several times: in this order, and through no other version. Left out: the way with the most of the given mapping models, then the fewest steps.
        --unmapped-stages CHOICE=refuse|structure
          Custom stages of a SchemaMigrationPlan that no mapping model stands for (--mapping 'SchemaV1..SchemaV2=FILE'): refuse (the default) or structure (they are migrated as lightweight ones: their code does not run).
        --plan FILE
          Run a plan that plan --save wrote: its passes and keys. Refused if stores, models, mapping models or options have changed since.
        --transformable-bytes
          Give policies and expressions the bytes of transformable attributes instead of the objects that their transformers make.
        --unknown-hashes CHOICE=refuse|omit
          Version hashes that only Core Data can compute, of entities with attributes derived in an unknown form or with composites in composites: refuse (the default; a compiled .momd states them, and so does a store given with --to), or omit (the store lacks them, and Core Data takes it for one of another version).
        --check full=full
          Run SQLite's integrity check before publishing.
        --source-type CHOICE=sqlite|xml|binary
          The type that SOURCE must have. Left out: what its first bytes say.

        # The type of store to make, and ways of writing and reading rows, to compare them.
        & writing
        % result
        --destination-type CHOICE=sqlite|xml|binary
          The type of store to make: sqlite (the default), or xml or binary, for models whose attributes are Integer, Boolean, String, Date and Binary, and Float for xml.
        % expert
        --writer CHOICE=pages|sqlite
          How a fresh store's rows are written: pages (faster) or sqlite, to compare the two. The rows are the same.
        --reader CHOICE=pages|sqlite
          How the source's rows are read: pages (faster; through SQLite where pages cannot be read) or sqlite, to compare the two. The rows are the same.

        & stores
        % reports
        --report FILE=.html|.json|.csv repeatable
          Write a report of all stores: NAME.html (a page that lists them), NAME.json or NAME.csv (a line a store). It replaces an existing report of a batch, and no other file. May be given several times.

        = migrate Migrate a store to another model version
        < SOURCE DESTINATION
        Reads SOURCE, which is not changed by a byte, and writes a fresh store at DESTINATION, where nothing may
        exist yet. A run that fails or is interrupted leaves no destination. With --append it adds to the store at
        DESTINATION, in one step at the end: until then, and after a failure, that store is unchanged.

        The same command resumes a run that was killed, interrupted, or met a full disk. If an input or an option
        that matters has changed meanwhile, the command says which, and --restart begins anew.

        MODEL is an .xcdatamodel, an .xcdatamodeld or .momd (its current version), Bundle.xcdatamodeld:Version or
        Bundle.momd:Version, a .mom, a store (its cached model), or Swift sources with SwiftData's classes: a folder or
        files joined by commas (the newest version), or Folder:SchemaV2.
        @ migration
        @ writing
        % reports
        --profile
          Print on standard error, and in the report, what each stage and entity mapping took: seconds and bytes.
        --json
          Print the report as JSON instead of the summary.
        $ old.sqlite new.sqlite --to Library.xcdatamodeld
          to the current version, by inference
        $ old.sqlite new.sqlite --to 'Library.xcdatamodeld:Library 2' --mapping library.json --memory-limit 64M
          by a mapping model, within 64 MiB
        $ old.sqlite new.sqlite --to Library.xcdatamodeld --mapping authors.json --mapping books.json
          by two mapping models in turn
        $ second.sqlite new.sqlite --to Library.xcdatamodeld --append
          add the objects of another store
        $ old.sqlite new.sqlite --to Library.xcdatamodeld --mapping 1to2.cdm --mapping 2to3.cdm
          from version to version

        = plan Show the passes, tables and keys of a migration
        < SOURCE DESTINATION
        Takes the arguments of migrate that bear on it and prints which path each entity mapping takes and why, how the links of each
        relationship are found, the passes, their tables, the keys of each, and the disk space that is needed. Nothing
        is written, neither beside SOURCE nor beside DESTINATION.

        A saved plan may be reviewed, and its passes and the keys of its tables changed; migrate --plan runs it.
        @ migration but restart dry-run new-uuid id-map external-threshold batch-size reject-file max-rejects report metrics progress progress-file check
        @ writing destination-type
        % reports
        --format FORMAT=text|json|dot
          text, json, or dot: a graph for Graphviz.
        --json
          Print one JSON object, as --format json does.
        --save FILE=.json
          Write the plan to a new file, NAME.json, for migrate --plan.
        $ old.sqlite new.sqlite --to Library.xcdatamodeld
          what migrate would do
        $ old.sqlite new.sqlite --to Library.xcdatamodeld --save plan.json
          a plan to review, for migrate --plan plan.json
        $ old.sqlite new.sqlite --to Library.xcdatamodeld --format dot | dot -Tsvg -o plan.svg
          a picture of it

        = check Count what breaks the new model's rules, without migrating
        < SOURCE [DESTINATION]
        Takes the arguments of migrate that bear on it, does all of its work on temporary files, policies included, and counts the
        objects that break a rule of the destination model: by entity, property and rule, with the first ids.
        DESTINATION may be left out. It is read with --append only, and never changed. Work files go to the folder for
        temporary files or to --work-dir and are removed.

        Data of SOURCE that the migration would leave behind is named and counted, too.

        The exit code is 0 if a migration with the same arguments would fail neither because of its objects nor because
        of the data that it leaves behind (--on-loss), else 65.
        @ migration but restart dry-run new-uuid id-map external-threshold reject-file check
        % reports
        --json
          Print one JSON object.
        $ old.sqlite --to Library.xcdatamodeld
          what would keep the store from migrating

        = explain Explain what a migration makes of one object
        < SOURCE OBJECT
        Takes the arguments of migrate that bear on it, and prints for each entity mapping that reads the entity of OBJECT, which is
        Entity/pKEY or the URI of an object id: the answer of the source filter, each property's expression with the
        values of its parts and the value in the destination's type, what lookups find or why they find nothing, the
        rules of the destination that it breaks, and the destination object. Or why the object is filtered, rejected,
        removed, or read by no entity mapping.

        The object and those that its expressions name are found by their keys. What depends on all other objects is
        not worked out, and named: numbered keys, links that others decide, uniqueness. Policies are named, not called.
        If the way takes several migrations, the first is explained. Nothing is written.

        The exit code is 0 whatever becomes of the object, and 66 if there is none.
        @ migration but restart dry-run new-uuid id-map external-threshold batch-size work-dir passes reject-file max-rejects report metrics progress progress-file check
        --json
          Print one JSON object.
        $ old.sqlite Book/p777 --to Library.xcdatamodeld
          what migrate would make of it
        $ old.sqlite Book/p777 --to Library.xcdatamodeld --mapping library.json --on-invalid reject
          why a mapping model leaves it out

        = verify Compare a destination with what its migration makes
        < SOURCE DESTINATION
        Takes the arguments with which migrate made DESTINATION, less those for files of the run and for starting it, reads both stores by code of its own, and compares: objects by
        entity mapping, every attribute that is copied or computed, every relationship on both sides, ordering keys,
        references, uniqueness, keys, metadata, schema, external data and the file's pages. Neither store is changed.

        Objects that a policy makes cannot be computed again: they are checked against the model's rules, and listed.
        With --run-policies and the library that migrate was given, the policies run again into a private store, and
        their objects are compared row by row. With --reject-file the objects that the file lists are left out;
        without it, missing objects count as rejected if any were.

        The last line says how many objects were recomputed, which were compared otherwise, and why. The exit code is
        0 if nothing that was compared differs, else 65, and each difference names entity, object and property.
        @ migration but restart dry-run id-map max-rejects report check
        @ writing
        --run-policies
          Run the policies of --policies again, into a private store, and compare their objects with the destination. The comparison is only as good as they are.
        % reports
        --limit N>=1
          Objects to name for each property. Left out: 10.
        --json
          Print one JSON object.
        $ old.sqlite new.sqlite --to Library.xcdatamodeld
          after migrate with the same arguments
        $ old.sqlite new.sqlite --to Library.xcdatamodeld --on-invalid reject --reject-file rejects.jsonl
          where objects were rejected
        $ old.sqlite new.sqlite --to Library.xcdatamodeld --mapping Library.xcmappingmodel --policies libMyPolicies.so --run-policies
          what the policies make, too

        = batch Migrate many stores
        < MANIFEST|STORE...
        MANIFEST lists the stores: a JSON object a line, or comma-separated values under a line of names. Each has
        source and destination, and may have model, from, mapping and allowLoss (a list, or texts separated by
        semicolons), report, rejectFile and idMap, which replace the options. Its relative paths are relative to its
        own folder. Instead of it STOREs may be named, by path or by a quoted pattern; --into says where they go.

        A store that fails does not stop the others. The result of each is a line of standard output, and of the
        results file. The same command again skips the stores that are done, as long as source, destination, models
        and options are the same, and tries the others.

        The exit code is 0 if all stores are done, 65 if one failed, and 75 if the batch was interrupted or the rest
        can be done by another run.
        --to MODEL repeatable
          The model version to migrate to, if the manifest names none. Several are merged, as Core Data merges the models of an app: an entity that several define alike counts once.
        --into FOLDER
          Where the destinations of STOREs go, by the names of the stores.
        % memory
        -j, --jobs N>=1
          Stores at a time, each in a process of its own, within one memory limit. Left out: 1.
        --memory-limit SIZE
          Peak resident memory of all processes, as 256M or 2G. Left out: 256M a job, or three quarters of the limit of the cgroup or of Slurm, whichever is lowest.
        % common
        --shard I/N
          Do every N-th store from the I-th on, counted from 0. Left out: the share that SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX names.
        % reports
        --results FILE
          Add results to this file, a line of JSON each. Left out: MANIFEST.results.jsonl, or with a shard MANIFEST.results-I-of-N.jsonl, or in the folder of --into.
        @ migration from mapping set via unmappable policies batch-size keys strict-validation on-invalid max-rejects on-loss allow-loss transformable-bytes external-threshold history cloudkit unknown-hashes repair new-uuid check like unchecked unmapped-stages source-type
        @ writing destination-type
        --progress CHOICE=auto|none
          auto (a line that is redrawn, on a terminal only) or none.
        @ stores
        --metrics FILE
          Write figures of the batch for a collector to this file, as OpenMetrics text: stores by outcome, objects, bytes, seconds, peak memory, spills, losses, exit code. It is replaced as a whole every two seconds, and at the end.
        --json
          Print results as JSON, a line each, and the summary as one more.
        $ stores.jsonl --to Library.xcdatamodeld
          each store of a manifest
        $ 'customers/*/Library.sqlite' --into migrated --to Library.xcdatamodeld --jobs 4 --memory-limit 1G
          each store that a pattern finds, four at a time
        $ stores.csv --to Library.xcdatamodeld --shard 2/8
          the third of eight shares
        $ stores.csv --to Library.xcdatamodeld --report batch.html
          a page of what became of each

        = merge-reports Add up the results of a batch's shares
        < RESULTS...
        Reads the results files of batch and prints the results of all stores; for each store the latest line counts.
        The exit code is that of one batch of them all.
        --manifest FILE
          Name the stores of this manifest that have no result.
        @ stores
        --json
          Print one JSON object.
        $ stores.jsonl.results-*.jsonl --manifest stores.jsonl
          all shares of one batch
        $ stores.jsonl.results.jsonl --report batch.html
          a page of what became of each

        = infer Infer the mapping model between two model versions
        Writes the mapping model, which people review, change and keep in version control, as JSON to standard
        output or to a new file.
        --from MODEL required repeatable
          The older version. Several are merged.
        --to MODEL required repeatable
          The newer version. Several are merged, as Core Data merges the models of an app: an entity that several define alike counts once.
        @ migration set unmappable like
        --template
          Map all that can be mapped, and write null with a "why" where you must decide: properties that inference cannot map, and new ones that need a value. The file is read as it is; replace what you decide.
        -o, --output FILE
          Write to a new file instead of standard output.
        $ --from Library.xcdatamodeld:Library --to 'Library.xcdatamodeld:Library 2' -o library.json
          to a file
        $ --from Library.xcdatamodeld:Library --to 'Library.xcdatamodeld:Library 2' --template
          with the open places, and what to decide of each

        = convert Write a mapping model of any form as JSON
        < MAPPING
        MAPPING is Xcode's .xcmappingmodel (or the xcmapping.xml in it), a compiled .cdm, or JSON. With the two models
        everything is filled in. Without them, parts that depend on them are left open ("convertedFrom" in the JSON)
        until the JSON is read with them. JSON that leaves out properties needs them.
        --from MODEL repeatable
          The version that it migrates from. Several are merged.
        --to MODEL repeatable
          The version that it migrates to. Several are merged, as Core Data merges the models of an app: an entity that several define alike counts once.
        -o, --output FILE
          Write to a new file instead of standard output.
        $ Library1to2.xcmappingmodel --from Library.xcdatamodeld:Library --to 'Library.xcdatamodeld:Library 2' -o library.json
          to a file
        $ Library1to2.cdm
          to look at it

        = model Write the model of a store as Xcode keeps it
        < MODEL...
        MODEL is a store (its cached model, as every SwiftData store has one), a compiled model (.mom, .momd,
        Bundle.momd:Version), Swift sources with SwiftData's classes, or a model of Xcode. The written model has the
        same version hashes. Parts for which Xcode's form has no place are named on standard error. No existing file is
        replaced. Several models are merged into one.
        -o, --output PATH
          A new NAME.xcdatamodel, a new NAME.xcdatamodeld (all versions of a .momd, with its current one), or a new file called contents. Left out: the XML goes to standard output.
        @ migration like
        $ default.store -o Trips.xcdatamodel
          the model of a SwiftData store, to edit by hand
        $ Library.momd -o Library.xcdatamodeld
          the versions of an app
        $ 'Library.momd:Library 2' | less
          to look at one of them

        = inspect Show what a store, a model or a mapping model holds
        < PATH...
        PATH is a store, a model (.xcdatamodel, .xcdatamodeld, .mom, .momd, Bundle.xcdatamodeld:Version,
        Bundle.momd:Version, Swift sources with SwiftData's classes) or a mapping model (.xcmappingmodel, .cdm, JSON).
        Several models are shown merged into one. Nothing is changed.

        With --fidelity PATH is a store, and its tables, indexes and triggers, metadata, entity numbers and keys are
        compared with what Core Data makes for its model. The exit code is 0 if all are equal, else 65. With --source the
        store from which it was migrated is a second witness: its names, indexes and triggers for the same entities and
        relationships are better evidence than rules, and places where the two disagree are named.
        --fidelity
          Compare a store with what its model predicts, and list each difference.
        --model MODEL repeatable
          An .xcdatamodeld or .momd: say which of its versions wrote the store, and how that is known. With --fidelity: the version that wrote the store. Left out: the store's cached model. Several are merged.
        --source STORE
          With --fidelity: the store that it was migrated from, which is compared with too.
        @ migration like
        --repair
          Count the objects of a damaged store as a command with --repair reads them.
        --json
          Print one JSON object.
        $ old.sqlite
          version, entities, rows
        $ --fidelity new.sqlite
          what differs from a store that Core Data made
        $ old.sqlite --model Library.xcdatamodeld
          which of the versions wrote it
        $ Library.xcdatamodeld
          entities, properties, version hashes

        = show Show objects of a store
        < STORE OBJECT...
        OBJECT is Entity/pKEY, the URI of an object id, or an entity: then its first objects are shown, those of its
        subentities too. Attributes are printed by their types, dates in UTC, data by their size and first bytes, and
        relationships with the number and the first of their objects. An object is found by its key, without a scan.
        Nothing is changed, and nothing is put beside STORE.

        The exit code is 66 if there is no such object or entity; of several, each is answered.
        --where PREDICATE
          The objects of the entity that satisfy an NSPredicate format string, as in a source filter. All are tried in turn.
        --limit N>=1|all
          Objects to show of each entity. Left out: 10.
        --members N>=0
          Objects to name of each to-many relationship. Left out: 10.
        --model MODEL repeatable
          The model version that wrote the store, or the bundle that has it. Left out: the store's cached model. Several are merged.
        --memory-limit SIZE
          Peak resident memory, as 64M or 1G. Left out: 256M, or three quarters of the cgroup's limit where that is lower.
        --repair
          Read a missing table of a damaged store as empty, and a missing column as nil.
        --json
          Print an object a line as JSON.
        $ old.sqlite Book/p777
          one object
        $ old.sqlite Book --where 'author.name BEGINSWITH "A" AND tags.@count > 3' --limit 20
          objects by a predicate
        $ old.sqlite Book --json --limit all | jq -r .attributes.title
          values for other programs

        = port List what to change in policy sources for Linux
        < DIR
        DIR holds Swift sources of migration policies written for Core Data. Each place that does not compile on
        Linux is listed with what takes its place, then the types that no source declares, a skeleton in Swift for
        each Objective-C policy, and the statements that register the policies and the functions that value
        expressions call. Nothing is changed; --apply writes ported copies.
        -o, --apply FOLDER
          Write ported copies to a new or empty folder, with the registrations, a stub for each type that no source declares, and a skeleton for each Objective-C policy.
        --context FOLDER repeatable
          Sources of the app that are read for what they declare, and not copied: classes, keys that @objc(name) gives, extensions. May be given several times.
        --mapping FILE repeatable
          A mapping model: functions that its expressions call and that no source has are listed, and skeletons have the called ones only. May be given several times.
        --json
          Print one JSON object.
        $ Migrations
          what must change, and the registrations
        $ Migrations --apply Sources/MyPolicies
          sources that compile

        = policies Check a shared library of policies
        < check LIBRARY
        Says which Swift built LIBRARY, which of the libraries that it needs the loader does not find, and which
        policies and functions it registers. It is loaded for that, as --policies loads it; nothing is migrated.

        The exit code is 0 where a migration on this host can use it, else 78.
        --json
          Print one JSON object.
        $ check libMyPolicies.so
          before it is used, on the host that will use it

        = demo Make a store, migrate it and show what happened
        Makes a store of 200,000 objects in a temporary folder and migrates it within 64 MiB of memory: an
        attribute and an entity are renamed, an attribute is computed, an entity is new.
        --keep DIR
          Keep stores, models and mapping models in a new or empty folder, under the names that the articles use.
        --memory-limit SIZE
          Peak resident memory, as 128M or 1G. Left out: 64M.
        $ --keep library-demo
          look at the stores afterwards

        = completions Write completions for a shell
        < SHELL
        Writes a script to standard output that lets SHELL, which is bash, zsh or fish, complete commands, options
        and their values.
        $ bash > ~/.local/share/bash-completion/completions/stagecoach
          for bash, from the next shell on
        $ zsh > /usr/local/share/zsh/site-functions/_stagecoach
          for zsh
        $ fish > ~/.config/fish/completions/stagecoach.fish
          for fish

        = man Write a manual page
        < [COMMAND]
        Writes the manual page of stagecoach, or of one COMMAND, to standard output.
        $ | man -l -
          read it
        $ migrate > /usr/local/share/man/man1/stagecoach-migrate.1
          install one

        """#
}
