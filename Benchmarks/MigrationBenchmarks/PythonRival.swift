/// What a user would write with Python's own sqlite3 module: rows through a generator into `executemany`.
enum PythonRival {
    /// Opens both files and makes the tables.
    private static func head(source: String, output: String, script: (tables: [String], indexes: [String])) -> String {
        """
        import sqlite3
        SOURCE, OUTPUT = \(literal(source)), \(literal(output))
        TABLES = [\(script.tables.map(literal).joined(separator: ", "))]
        INDEXES = [\(script.indexes.map(literal).joined(separator: ", "))]
        old = sqlite3.connect("file:" + SOURCE.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro", uri=True)
        new = sqlite3.connect(OUTPUT, isolation_level=None)
        for pragma in ("page_size=4096", "auto_vacuum=INCREMENTAL", "journal_mode=OFF", "synchronous=OFF", "cache_size=-8000"):
            new.execute("PRAGMA " + pragma)
        new.execute("BEGIN")
        for statement in TABLES: new.execute(statement)
        def columns(table): return [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
        def put(table, names, rows):
            marks = ",".join("?" * len(names))
            new.executemany(f"INSERT INTO {table} ({','.join(names)}) VALUES ({marks})", rows)

        """
    }

    private static let tail = """

        put("Z_METADATA", columns("Z_METADATA"), old.execute("SELECT * FROM Z_METADATA"))
        for statement in INDEXES: new.execute(statement)
        new.execute("COMMIT")
        print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])

        """

    /// The script.
    static func script(
        source: String, output: String, script: (tables: [String], indexes: [String])
    ) -> String {
        head(source: source, output: output, script: script) + """
            A = ["Z_PK", "Z_ENT", "Z_OPT", "ZRANK", "ZBIRTHDATE", "ZCOUNTRY", "ZEMAIL", "ZFULLNAME"]
            put("ZAUTHOR", A, ((k, 1, o, 0, b, c, e, f + " " + l) for k, o, b, c, e, f, l in old.execute(
                "SELECT Z_PK, Z_OPT, ZBORN, ZCOUNTRY, ZEMAIL, ZFIRSTNAME, ZLASTNAME FROM ZAUTHOR")))
            B = ["Z_PK", "Z_ENT", "Z_OPT", "ZSTATUS", "ZSTOCK", "ZAUTHOR", "ZDETAIL", "ZPUBLISHER", "ZADDEDAT", "ZPUBLISHEDAT",
                "ZPRICE", "ZRATING", "ZTEMPC", "ZISBN", "ZNAME", "ZSUBTITLE"]
            put("ZBOOK", B, ((k, 2, o, 1, s, a, k, p, d, h, c, r, None if t is None else (t - 32) * 5 / 9, i, n, u)
                for k, o, s, a, p, d, h, c, r, t, i, n, u in old.execute("SELECT Z_PK, Z_OPT, ZSTOCK, ZAUTHOR, ZPUBLISHER, ZADDEDAT, "
                    "ZPUBLISHEDAT, ZPRICE, ZRATING, ZTEMPF, ZISBN, ZTITLE, ZSUBTITLE FROM ZBOOK")))
            put("ZBOOKDETAIL", ["Z_PK", "Z_ENT", "Z_OPT", "ZFLAGS", "ZPAGES", "ZBOOK", "ZSUMMARY"],
                ((k, 3, o, f, p, k, s) for k, o, f, p, s in old.execute("SELECT Z_PK, Z_OPT, ZFLAGS, ZPAGES, ZSUMMARY FROM ZBOOK")))
            C = ["Z_PK", "Z_ENT", "Z_OPT", "ZNUMBER", "ZPAGECOUNT", "ZWORDCOUNT", "ZBOOK", "ZUPDATEDAT", "ZNOTE", "ZTITLE"]
            put("ZCHAPTER", C, old.execute("SELECT Z_PK, 4, " + ", ".join(C[2:]) + " FROM ZCHAPTER"))
            put("ZPUBLISHER", ["Z_PK", "Z_ENT", "Z_OPT", "ZFOUNDED", "ZNAME"],
                old.execute("SELECT Z_PK, 5, Z_OPT, ZFOUNDED, ZNAME FROM ZPUBLISHER"))
            put("ZTAG", ["Z_PK", "Z_ENT", "Z_OPT", "ZCOLOR", "ZNAME"], old.execute("SELECT Z_PK, 6, Z_OPT, ZCOLOR, ZNAME FROM ZTAG"))
            put("Z_2TAGS", ["Z_2BOOKS", "Z_6TAGS"], old.execute("SELECT Z_2BOOKS, Z_5TAGS FROM Z_2TAGS"))
            """ + tail
    }

    private static func literal(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
