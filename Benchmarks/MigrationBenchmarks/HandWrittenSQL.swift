import CoreDataStore

/// The script for the sqlite3 shell that a user would write without this program: the yardstick (a).
///
/// It has `ATTACH` and one `INSERT … SELECT` per table in key order, with no journal and no sync. Tables and indexes are those
/// of Core Data; indexes are made after the load. Metadata is copied unchanged and no model
/// is cached: a little less than the job.
enum HandWrittenSQL {
    /// The script.
    ///
    /// - Parameters:
    ///   - source: path of the version 1 store.
    ///   - schema: of version 2.
    static func script(source: String, schema: StoreSchema) -> String {
        let settings = """
            PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
            PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-8000; PRAGMA temp_store=FILE;
            ATTACH '\(source.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))' AS old;
            BEGIN
            """
        let (tables, indexes) = statements(schema)
        let keys = schema.entityByNumber.sorted { $0.key < $1.key }.map { number, entity in
            let table = schema.tables[schema.tableByEntity[entity]].name
            return
                "INSERT INTO Z_PRIMARYKEY SELECT \(number), '\(schema.model.entity(at: entity).definition.name)', 0, "
                + "coalesce(max(Z_PK), 0) FROM \(table)"
        }
        let statements = [settings] + tables + load + keys + indexes + ["COMMIT"]
        // The shell's child reads the peak of the shell, its parent.
        return statements.map { $0 + ";\n" }.joined() + ".system grep VmHWM /proc/$PPID/status\n"
    }

    /// Returns the statements that make the tables and those that make their indexes.
    static func statements(_ schema: StoreSchema) -> (tables: [String], indexes: [String]) {
        (
            schema.tableStatements() + schema.fixedTableStatements(),
            zip(schema.tables, schema.indexes).flatMap { table, indexes in indexes.map { $0.statement(on: table) } }
                + schema.joinTables.map(\.index.statement)
        )
    }

    private static let load = [
        """
        INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZRANK, ZBIRTHDATE, ZCOUNTRY, ZEMAIL, ZFULLNAME)
        SELECT Z_PK, 1, Z_OPT, 0, ZBORN, ZCOUNTRY, ZEMAIL, ZFIRSTNAME || ' ' || ZLASTNAME FROM old.ZAUTHOR
        """,
        """
        INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZSTATUS, ZSTOCK, ZAUTHOR, ZDETAIL, ZPUBLISHER, ZADDEDAT, ZPUBLISHEDAT,
            ZPRICE, ZRATING, ZTEMPC, ZISBN, ZNAME, ZSUBTITLE)
        SELECT Z_PK, 2, Z_OPT, 1, ZSTOCK, ZAUTHOR, Z_PK, ZPUBLISHER, ZADDEDAT, ZPUBLISHEDAT,
            ZPRICE, ZRATING, (ZTEMPF - 32.0) * 5.0 / 9.0, ZISBN, ZTITLE, ZSUBTITLE FROM old.ZBOOK
        """,
        """
        INSERT INTO ZBOOKDETAIL (Z_PK, Z_ENT, Z_OPT, ZFLAGS, ZPAGES, ZBOOK, ZSUMMARY)
        SELECT Z_PK, 3, Z_OPT, ZFLAGS, ZPAGES, Z_PK, ZSUMMARY FROM old.ZBOOK
        """,
        """
        INSERT INTO ZCHAPTER (Z_PK, Z_ENT, Z_OPT, ZNUMBER, ZPAGECOUNT, ZWORDCOUNT, ZBOOK, ZUPDATEDAT, ZNOTE, ZTITLE)
        SELECT Z_PK, 4, Z_OPT, ZNUMBER, ZPAGECOUNT, ZWORDCOUNT, ZBOOK, ZUPDATEDAT, ZNOTE, ZTITLE FROM old.ZCHAPTER
        """,
        """
        INSERT INTO ZPUBLISHER (Z_PK, Z_ENT, Z_OPT, ZFOUNDED, ZNAME)
        SELECT Z_PK, 5, Z_OPT, ZFOUNDED, ZNAME FROM old.ZPUBLISHER
        """,
        """
        INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZCOLOR, ZNAME)
        SELECT Z_PK, 6, Z_OPT, ZCOLOR, ZNAME FROM old.ZTAG
        """,
        "INSERT INTO Z_2TAGS (Z_2BOOKS, Z_6TAGS) SELECT Z_2BOOKS, Z_5TAGS FROM old.Z_2TAGS",
        "INSERT INTO Z_METADATA SELECT * FROM old.Z_METADATA",
    ]
}
