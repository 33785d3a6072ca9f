extension CommandCatalog {
    static let verify = CommandSpecification(
        "verify", summary: "Compare a destination with what its migration makes",
        discussion: """
            Takes the arguments with which migrate made DESTINATION, reads both stores by itself, and compares: objects by
            entity mapping, every attribute that is copied or computed, every relationship on both sides, ordering keys,
            references, uniqueness, keys, metadata, schema, external data and the file's pages. Neither store is changed.

            What a policy makes cannot be computed again: it is checked against the model's rules, and listed. With
            --run-policies and the library that migrate was given, the policies run again into a private store, and what they
            make is compared row by row: that trusts the library. With --reject-file the objects that the file lists are left
            out; without it, objects that are not there count as rejected where objects were. Options that change nothing
            in the destination are taken and have no effect.

            The last line says how many objects were recomputed, which were compared otherwise, and why. The exit code is
            0 where nothing differs of what was compared, else 65, and each difference names entity, object and property.
            """,
        operands: ["SOURCE", "DESTINATION"],
        options: migrationOptions + writingOptions + [
            .init(
                "run-policies", .flag,
                help:
                    "Run the policies again, into a private store, and compare what they make with the destination. It trusts them: they come from --policies."
            ),
            .init("limit", .count(least: 1), "N", help: "Objects to name for each property. Left out: 10."),
            .init("json", .flag, help: "Print one JSON object."),
        ],
        examples: [
            (
                "stagecoach verify old.sqlite new.sqlite --to Library.xcdatamodeld",
                "after migrate with the same arguments"
            ),
            (
                "stagecoach verify old.sqlite new.sqlite --to Library.xcdatamodeld --on-invalid reject --reject-file rejects.jsonl",
                "where objects were rejected"
            ),
            (
                "stagecoach verify old.sqlite new.sqlite --to Library.xcdatamodeld --mapping Library.xcmappingmodel --policies libMyPolicies.so --run-policies",
                "what the policies make, too"
            ),
        ])
}
