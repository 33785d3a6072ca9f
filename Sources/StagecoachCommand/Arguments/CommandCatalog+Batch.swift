/// The commands for many stores.
extension CommandCatalog {
    /// The options of `migrate` that apply to each store of a batch.
    private static let sharedNames = [
        "from", "mapping", "via", "unmappable", "policies", "batch-size", "keys", "strict-validation", "on-invalid",
        "max-rejects", "on-loss", "transformable-bytes", "external-threshold", "history", "cloudkit", "unknown-hashes",
        "repair", "new-uuid", "check",
    ]

    private static let reportOfStores = OptionSpecification(
        "report", .file(endings: ReportFormat.endings), isRepeatable: true,
        "Write a report of all stores: NAME.html (a page that lists them), NAME.json or NAME.csv (a line a store). It replaces an existing report of a batch, and no other file. May be given several times."
    )

    static let batch = CommandSpecification(
        name: "batch", summary: "Migrate many stores",
        discussion: """
            MANIFEST lists the stores: a JSON object a line, or comma-separated values under a line of names. Each has
            source and destination, and may have model, from, mapping (a list, or paths separated by semicolons), report,
            rejectFile and idMap, which replace the options. Its relative paths are relative to its own folder. Instead
            of it STOREs may be named, by path or by a quoted pattern; --into says where they go.

            A store that fails does not stop the others. The result of each is a line of standard output, and of the
            results file. The same command again skips the stores that are done, as long as source, destination, models
            and options are the same, and tries the others.

            The exit code is 0 if all stores are done, 65 if one failed, and 75 if the batch was interrupted or the rest
            can be done by another run.
            """,
        operands: ["MANIFEST|STORE"], repeatsLastOperand: true,
        options: [
            .init("to", .text("MODEL"), "The model version to migrate to, if the manifest names none."),
            .init("into", .text("FOLDER"), "Where the destinations of STOREs go, by the names of the stores."),
            .init(
                "jobs", letter: "j", .count(least: 1),
                "Stores at a time, each in a process of its own, within one memory limit. Left out: 1."),
            .init(
                "memory-limit", .size,
                "Peak resident memory of all processes, as 256M or 2G. Left out: 256M a job, or three quarters of the limit of the cgroup or of Slurm, whichever is lowest."
            ),
            .init(
                "shard", .text("I/N"),
                "Do every N-th store from the I-th on, counted from 0. Left out: the share that SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX names."
            ),
            .init(
                "results", .text("FILE"),
                "Add results to this file, a line of JSON each. Left out: MANIFEST.results.jsonl, or with a shard MANIFEST.results-I-of-N.jsonl, or in the folder of --into."
            ),
        ]
            + migrationOptions.filter { sharedNames.contains($0.name) }
            + [
                .init(
                    "progress", .choice(["auto", "none"]),
                    "auto (a line that is redrawn, on a terminal only) or none."),
                reportOfStores,
                .init("json", .flag, "Print results as JSON, a line each, and the summary as one more."),
            ],
        examples: [
            ("stores.jsonl --to Library.xcdatamodeld", "each store of a manifest"),
            (
                "'customers/*/Library.sqlite' --into migrated --to Library.xcdatamodeld --jobs 4 --memory-limit 1G",
                "each store that a pattern finds, four at a time"
            ),
            ("stores.csv --to Library.xcdatamodeld --shard 2/8", "the third of eight shares"),
            ("stores.csv --to Library.xcdatamodeld --report batch.html", "a page of what became of each"),
        ])

    static let mergeReports = CommandSpecification(
        name: "merge-reports", summary: "Add up the results of a batch's shares",
        discussion: """
            Reads the results files of batch and prints the results of all stores; for each store the latest line counts.
            The exit code is that of one batch of them all.
            """,
        operands: ["RESULTS"], repeatsLastOperand: true,
        options: [
            .init("manifest", .text("FILE"), "Name the stores of this manifest that have no result."),
            reportOfStores,
            .init("json", .flag, "Print one JSON object."),
        ],
        examples: [
            ("stores.jsonl.results-*.jsonl --manifest stores.jsonl", "all shares of one batch"),
            ("stores.jsonl.results.jsonl --report batch.html", "a page of what became of each"),
        ])
}
