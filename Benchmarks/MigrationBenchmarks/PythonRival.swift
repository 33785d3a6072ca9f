/// Programs that a user would write in Python: with its own sqlite3 module, with a library, or as Core Data's manager works.
enum PythonRival: String, CaseIterable {
    /// Rows through a generator into `executemany`.
    case executeMany = "Python, executemany"
    /// sqlite-utils: rows as dictionaries into `insert_all`.
    case sqliteUtils = "Python, sqlite-utils"
    /// SQLAlchemy: mapped objects into a session, flushed every 5000.
    case sqlAlchemy = "Python, SQLAlchemy"
    /// Three stages with every object of both stores held in memory.
    case threeStages = "Python, three stages in memory"

    /// The module that it takes; nil if Python's own do.
    var module: String? {
        switch self {
        case .executeMany, .threeStages: nil
        case .sqliteUtils: "sqlite_utils"
        case .sqlAlchemy: "sqlalchemy"
        }
    }

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
    ///
    /// - Parameter script: what makes the tables and their indexes.
    func script(source: String, output: String, script: (tables: [String], indexes: [String])) -> String {
        let head = Self.head(source: source, output: output, script: script)
        return switch self {
        case .executeMany: head + Self.rowByRow + Self.tail
        case .sqliteUtils: head + Self.work + Self.dictionaries + Self.tail
        case .sqlAlchemy: head + Self.work + Self.mappedObjects + Self.tail
        case .threeStages: head + Self.heldObjects + Self.tail
        }
    }

    private static let rowByRow = """
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
        """

    /// The work as functions of a source row's dictionary.
    private static let work = """
        def celsius(t): return None if t is None else (t - 32) * 5 / 9
        def same(entity): return lambda r: {**r, "Z_ENT": entity}
        def author(r): return dict(Z_PK=r["Z_PK"], Z_ENT=1, Z_OPT=r["Z_OPT"], ZRANK=0, ZBIRTHDATE=r["ZBORN"], ZCOUNTRY=r["ZCOUNTRY"],
            ZEMAIL=r["ZEMAIL"], ZFULLNAME=r["ZFIRSTNAME"] + " " + r["ZLASTNAME"])
        def book(r): return dict(Z_PK=r["Z_PK"], Z_ENT=2, Z_OPT=r["Z_OPT"], ZSTATUS=1, ZSTOCK=r["ZSTOCK"], ZAUTHOR=r["ZAUTHOR"],
            ZDETAIL=r["Z_PK"], ZPUBLISHER=r["ZPUBLISHER"], ZADDEDAT=r["ZADDEDAT"], ZPUBLISHEDAT=r["ZPUBLISHEDAT"],
            ZPRICE=r["ZPRICE"], ZRATING=r["ZRATING"], ZTEMPC=celsius(r["ZTEMPF"]), ZISBN=r["ZISBN"], ZNAME=r["ZTITLE"],
            ZSUBTITLE=r["ZSUBTITLE"])
        def detail(r): return dict(Z_PK=r["Z_PK"], Z_ENT=3, Z_OPT=r["Z_OPT"], ZFLAGS=r["ZFLAGS"], ZPAGES=r["ZPAGES"],
            ZBOOK=r["Z_PK"], ZSUMMARY=r["ZSUMMARY"])
        WORK = [("ZAUTHOR", [("ZAUTHOR", author)]), ("ZBOOK", [("ZBOOK", book), ("ZBOOKDETAIL", detail)]),
            ("ZCHAPTER", [("ZCHAPTER", same(4))]), ("ZPUBLISHER", [("ZPUBLISHER", same(5))]), ("ZTAG", [("ZTAG", same(6))])]

        """

    private static let dictionaries = """
        import sqlite_utils
        source, target = sqlite_utils.Database(old), sqlite_utils.Database(new)
        for table, made in WORK:
            for name, function in made:
                target[name].insert_all((function(r) for r in source[table].rows), batch_size=5000)
        target["Z_2TAGS"].insert_all(
            (dict(Z_2BOOKS=r["Z_2BOOKS"], Z_6TAGS=r["Z_5TAGS"]) for r in source["Z_2TAGS"].rows), batch_size=5000)
        if not new.in_transaction: new.execute("BEGIN")

        """

    private static let mappedObjects = """
        import sqlalchemy, sqlalchemy.orm
        new.execute("COMMIT")
        class Row:
            def __init__(self, **values):
                for name, value in values.items(): setattr(self, name, value)
        def mapped(path):
            engine, metadata = sqlalchemy.create_engine("sqlite:///" + path), sqlalchemy.MetaData()
            metadata.reflect(engine)
            registry, classes = sqlalchemy.orm.registry(), {}
            for name, table in metadata.tables.items():
                for column in table.columns:
                    # Seconds since 2001, and decimals as SQLite keeps them.
                    if isinstance(column.type, (sqlalchemy.DateTime, sqlalchemy.Numeric)): column.type = sqlalchemy.Float()
                if "Z_PK" in table.columns:
                    classes[name] = type(name, (Row,), {})
                    registry.map_imperatively(classes[name], table)
            return engine, metadata, classes
        sourceEngine, sourceTables, sourceClasses = mapped(SOURCE)
        engine, tables, classes = mapped(OUTPUT)
        @sqlalchemy.event.listens_for(engine, "connect")
        def settings(connection, _):
            for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-8000"): connection.execute("PRAGMA " + pragma)
        with sqlalchemy.orm.Session(sourceEngine) as reading, sqlalchemy.orm.Session(engine, expire_on_commit=False) as writing:
            for table, made in WORK:
                kind = sourceClasses[table]
                names = [column.name for column in sourceTables.tables[table].columns]
                query = sqlalchemy.select(kind).order_by(kind.Z_PK).execution_options(yield_per=5000)
                for part in reading.execute(query).scalars().partitions(5000):
                    rows = [{name: getattr(o, name) for name in names} for o in part]
                    for name, function in made:
                        writing.add_all([classes[name](**function(r)) for r in rows])
                        writing.flush()
                    writing.expunge_all()
            links = sourceTables.tables["Z_2TAGS"]
            for part in reading.execute(sqlalchemy.select(links).execution_options(yield_per=5000)).partitions(5000):
                writing.execute(sqlalchemy.insert(tables.tables["Z_2TAGS"]), [dict(Z_2BOOKS=a, Z_6TAGS=b) for a, b in part])
            writing.commit()
        engine.dispose()
        new.execute("BEGIN")

        """

    private static let heldObjects = """
        import gc
        gc.disable()
        class Object:
            __slots__ = ("key", "values", "related")
            def __init__(self, key, values): self.key, self.values, self.related = key, values, {}
        def load(table):
            rows = old.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in rows.description]
            return {row[0]: Object(row[0], dict(zip(names, row))) for row in rows}
        def make(objects, function): return {key: Object(key, function(o.values)) for key, o in objects.items()}
        def celsius(t): return None if t is None else (t - 32) * 5 / 9
        def only(*names): return lambda v: {name: v[name] for name in names}
        sources = {table: load(table) for table in ("ZAUTHOR", "ZPUBLISHER", "ZTAG", "ZBOOK", "ZCHAPTER")}
        # The first stage: objects with attributes.
        authors = make(sources["ZAUTHOR"], lambda v: dict(Z_OPT=v["Z_OPT"], ZRANK=0, ZBIRTHDATE=v["ZBORN"], ZCOUNTRY=v["ZCOUNTRY"],
            ZEMAIL=v["ZEMAIL"], ZFULLNAME=v["ZFIRSTNAME"] + " " + v["ZLASTNAME"]))
        publishers = make(sources["ZPUBLISHER"], only("Z_OPT", "ZFOUNDED", "ZNAME"))
        tags = make(sources["ZTAG"], only("Z_OPT", "ZCOLOR", "ZNAME"))
        books = make(sources["ZBOOK"], lambda v: dict(Z_OPT=v["Z_OPT"], ZSTATUS=1, ZSTOCK=v["ZSTOCK"], ZADDEDAT=v["ZADDEDAT"],
            ZPUBLISHEDAT=v["ZPUBLISHEDAT"], ZPRICE=v["ZPRICE"], ZRATING=v["ZRATING"], ZTEMPC=celsius(v["ZTEMPF"]),
            ZISBN=v["ZISBN"], ZNAME=v["ZTITLE"], ZSUBTITLE=v["ZSUBTITLE"]))
        details = make(sources["ZBOOK"], only("Z_OPT", "ZFLAGS", "ZPAGES", "ZSUMMARY"))
        chapters = make(sources["ZCHAPTER"], only("Z_OPT", "ZNUMBER", "ZPAGECOUNT", "ZWORDCOUNT", "ZUPDATEDAT", "ZNOTE", "ZTITLE"))
        # The second: relationships.
        for key, book in books.items():
            values = sources["ZBOOK"][key].values
            book.related = dict(author=authors.get(values["ZAUTHOR"]), publisher=publishers.get(values["ZPUBLISHER"]),
                detail=details[key], tags=set())
            details[key].related = dict(book=book)
        for key, chapter in chapters.items(): chapter.related = dict(book=books.get(sources["ZCHAPTER"][key].values["ZBOOK"]))
        for book, tag in old.execute("SELECT Z_2BOOKS, Z_5TAGS FROM Z_2TAGS"): books[book].related["tags"].add(tags[tag])
        # The third: rows.
        def save(table, entity, objects, **relations):
            first = next(iter(objects.values()), None)
            if first is None: return
            put(table, ["Z_PK", "Z_ENT", *first.values, *relations], ((key, entity, *o.values.values(),
                *(o.related[r].key if o.related[r] else None for r in relations.values())) for key, o in objects.items()))
        save("ZAUTHOR", 1, authors)
        save("ZBOOK", 2, books, ZAUTHOR="author", ZPUBLISHER="publisher", ZDETAIL="detail")
        save("ZBOOKDETAIL", 3, details, ZBOOK="book")
        save("ZCHAPTER", 4, chapters, ZBOOK="book")
        save("ZPUBLISHER", 5, publishers)
        save("ZTAG", 6, tags)
        put("Z_2TAGS", ["Z_2BOOKS", "Z_6TAGS"], ((key, tag.key) for key, o in books.items() for tag in o.related["tags"]))

        """

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
