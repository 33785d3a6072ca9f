extension CommandCatalog {
    static let verify = CommandSpecification(
        name: "verify", summary: "Compare a destination with what its migration makes",
        discussion: """
            Takes the arguments with which migrate made DESTINATION, reads both stores by code of its own, and compares: objects by
            entity mapping, every attribute that is copied or computed, every relationship on both sides, ordering keys,
            references, uniqueness, keys, metadata, schema, external data and the file's pages. Neither store is changed.

            Objects that a policy makes cannot be computed again: they are checked against the model's rules, and listed.
            With --run-policies and the library that migrate was given, the policies run again into a private store, and
            their objects are compared row by row. With --reject-file the objects that the file lists are left out;
            without it, missing objects count as rejected if any were. Options that change nothing in the destination are
            accepted and have no effect.

            The last line says how many objects were recomputed, which were compared otherwise, and why. The exit code is
            0 if nothing that was compared differs, else 65, and each difference names entity, object and property.
            """,
        operands: ["SOURCE", "DESTINATION"],
        options: migrationOptions + writingOptions + [
            .init(
                "run-policies", .flag,
                "Run the policies of --policies again, into a private store, and compare their objects with the destination. The comparison is only as good as they are."
            ),
            .init("limit", .count(least: 1), "Objects to name for each property. Left out: 10."),
            .init("json", .flag, "Print one JSON object."),
        ],
        examples: [
            ("old.sqlite new.sqlite --to Library.xcdatamodeld", "after migrate with the same arguments"),
            (
                "old.sqlite new.sqlite --to Library.xcdatamodeld --on-invalid reject --reject-file rejects.jsonl",
                "where objects were rejected"
            ),
            (
                "old.sqlite new.sqlite --to Library.xcdatamodeld --mapping Library.xcmappingmodel --policies libMyPolicies.so --run-policies",
                "what the policies make, too"
            ),
        ])
}
