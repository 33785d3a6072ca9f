import Testing

@Suite("The language: literals, key paths, arithmetic")
struct LanguageValueTests {
    static let literals: [LanguageCase] = [
        .init("5", "5"), .init("-5", "-5"), .init("2.5", "2.5"), .init("-.5", "-0.5"), .init("1e3", "1000.0"),
        .init("1.5e-2", "0.015"), .init("0xFF", "255"), .init("0o17", "15"), .init("0b1010", "10"),
        .init("9223372036854775807", "9223372036854775807"), .init("'text'", "'text'"), .init("\"text\"", "'text'"),
        .init("'it\\'s'", "'it\\'s'"), .init("\"say 'hi'\"", "'say \\'hi\\''"), .init("'\\u00e9'", "'é'"),
        .init("'%@'", "'%@'"), .init("''", "''"), .init("TRUE", "TRUE"), .init("yes", "TRUE"), .init("No", "FALSE"),
        .init("false", "FALSE"), .init("nil", "nil"), .init("NULL", "nil"), .init("Null", "nil"),
        .init("TRUEPREDICATE", "TRUE"), .init("FALSEPREDICATE", "FALSE"), .init("{}", "{}"),
        .init("{1, 'a', nil}", "{1, 'a', nil}"), .init("{{1}, {2, 3}}", "{{1}, {2, 3}}"),
        .init("{1 + 1, name}", "{2, 'Ada'}"), .init("CAST(5, 'NSDate')", "date(5.0)"),
        .init("CAST('12.10', 'NSDecimalNumber')", "CAST('12.1', 'NSDecimalNumber')"),
        .init("CAST('01ff', 'NSData')", "CAST('01ff', 'NSData')"), .init("ANYKEY", "error expression.unsupported"),
    ]

    static let keyPaths: [LanguageCase] = [
        .init("name", "'Ada'"), .init("SELF.name", "'Ada'"), .init("self.name", "'Ada'"),
        .init("$source.name", "'Ada'"), .init("$source", "<Ada>"), .init("SELF", "<Ada>"),
        .init("$destination.name", "'Lovelace'"), .init("age", "36"), .init("salary", "5000.5"),
        .init("bonus", "CAST('12.1', 'NSDecimalNumber')"), .init("rate", "1.5"), .init("active", "TRUE"),
        .init("retired", "FALSE"), .init("hired", "date(1000.0)"), .init("nick", "nil"), .init("null", "nil"),
        .init("photo", "CAST('0102ff', 'NSData')"), .init("boss", "<Charles>"), .init("boss.name", "'Charles'"),
        .init("boss.age", "50"), .init("$source.boss.name", "'Charles'"), .init("boss.boss", "nil"),
        .init("boss.boss.name", "nil"), .init("boss.boss.boss.boss.name", "nil"), .init("left.x", "nil"),
        .init("department.name", "'Engines'"), .init("projects.title", "set{'Engine', 'Loom', 'Notes'}"),
        .init("projects.owner", "set{<Charles>}"), .init("projects.owner.name", "set{'Charles'}"),
        .init("path.title", "ordered{'Engine', 'Notes', 'Loom'}"), .init("empties.title", "set{}"),
        .init("scores", "{3, 1, 2}"), .init("mixed", "{1, 'a', nil}"), .init("transactions.@count", "13"),
        .init("info.color", "'red'"), .init("info.size", "5"), .init("info.missing", "nil"),
        .init("legacy.b", "'x'"), .init("name.length", "3"), .init("name.uppercaseString", "'ADA'"),
        .init("#in", "'reserved'"), .init("$source.in", "'reserved'"), .init("#'odd name'", "'odd'"),
        .init("first", "'f'"), .init("$source.#first", "'f'"), .init("boss.projects.title", "set{'Engine', 'Loom'}"),
        .init("projects.tags.@count", "3"), .init("home.absoluteString", "'https://a.b/c/d.txt?q=1#f'"),
        .init("$x", "5"), .init("$nothing", "nil"), .init("$nothing.name", "nil"),
        .init("$missing", "error expression.variable"), .init("missing", "error UnknownKey(key: \"missing\")"),
        .init("boss.missing", "error UnknownKey(key: \"missing\")"), .init("age.missing", "error value.key"),
        .init("name.missing", "error value.key"), .init("projects.@foo", "error value.key"),
        .init("FUNCTION($source, 'valueForKey:', 'name')", "'Ada'"),
        .init("FUNCTION(SELF, 'valueForKeyPath:', 'boss.name')", "'Charles'"),
        .init("FUNCTION($source, 'valueForKeyPath:', 'projects.@count')", "3"),
        .init("$manager.sourceContext.@count", "error expression.type"),
        .init("SELF.self.name", "'Ada'"),
    ]

    static let arithmetic: [LanguageCase] = [
        .init("1 + 2", "3"), .init("1 + 2 * 3", "7"), .init("(1 + 2) * 3", "9"), .init("7 / 2", "3"),
        .init("-7 / 2", "-3"), .init("7 / 2.0", "3.5"), .init("7.0 / 2", "3.5"), .init("7 % 4", "3"),
        .init("-7 % 4", "-3"), .init("7.5 % 2", "1.5"), .init("2 ** 10", "1024"),
        .init("2.0 ** 0.5", "1.4142135623730951"),
        .init("2 ** 3 ** 2", "64"), .init("10 - 3 - 2", "5"), .init("age + 1", "37"), .init("age * 2 - 10", "62"),
        .init("-age", "-36"), .init("--age", "36"), .init("age / 5", "7"), .init("age / 5.0", "7.2"),
        .init("salary * 2", "10001.0"), .init("(212.0 - 32.0) / 1.8", "100.0"), .init("rate + 1", "2.5"),
        .init("bonus + bonus", "CAST('24.2', 'NSDecimalNumber')"),
        .init("bonus * 3", "CAST('36.3', 'NSDecimalNumber')"),
        .init("bonus + 0.9", "13.0"), .init("bonus ** 2", "CAST('146.41', 'NSDecimalNumber')"),
        .init("bonus % 5", "CAST('2.1', 'NSDecimalNumber')"), .init("active + 1", "2"), .init("active + active", "2"),
        .init("nick + 1", "nil"), .init("1 - nil", "nil"), .init("nil * nil", "nil"), .init("-nil", "nil"),
        .init("boss.boss.age + 1", "nil"), .init("hired + 60", "date(1060.0)"), .init("60 + hired", "date(1060.0)"),
        .init("hired - 0.5", "date(999.5)"), .init("hired - CAST(400, 'NSDate')", "600.0"),
        .init("hired - left", "nil"), .init("now() - hired", "4000.0"), .init("now()", "date(5000.0)"),
        .init("1 / 0", "error value.divisionByZero"), .init("1.0 / 0", "error value.divisionByZero"),
        .init("1 % zero", "error value.divisionByZero"), .init("bonus / 0", "error value.divisionByZero"),
        .init("big + 1", "error value.outOfRange"), .init("small - 1", "error value.outOfRange"),
        .init("small / -1", "error value.outOfRange"), .init("small % -1", "0"),
        .init("-small", "error value.outOfRange"),
        .init("big * 2.0", "1.8446744073709552e+19"), .init("2 ** 63", "error value.outOfRange"),
        .init("2 ** -1", "error value.outOfRange"), .init("2.0 ** -1", "0.5"),
        .init("1e300 * 1e300", "error value.outOfRange"),
        .init("bonus ** 1.5", "42.08991565684113"), .init("name + 1", "error expression.type"),
        .init("name + name", "'AdaAda'"), .init("hired + hired", "error expression.type"),
        .init("hired * 2", "error expression.type"), .init("5 - hired", "error expression.type"),
        .init("projects + 1", "error expression.type"), .init("nil + name", "nil"),
        .init("TRUE + TRUE", "2"), .init("1 + (age > 30)", "2"), .init("$x * $x", "25"), .init("7%4", "3"),
        .init("age %% 5", "1"),
    ]

    static let forms: [LanguageCase] = [
        .init("TERNARY(age > 30, 'old', 'young')", "'old'"), .init("TERNARY(age < 30, 'old', 'young')", "'young'"),
        .init("TERNARY(nick == nil, name, nick)", "'Ada'"), .init("TERNARY(nick > 5, 1, 2)", "2"),
        .init("TERNARY(zero == 0, nil, 10 / zero)", "nil"), .init("TERNARY(active, 1, 0)", "1"),
        .init("TERNARY(retired, 1, 0)", "0"), .init("TERNARY(nil, 1, 0)", "0"),
        .init("scores[0]", "3"), .init("scores[2]", "2"), .init("scores[FIRST]", "3"), .init("scores[LAST]", "2"),
        .init("scores[SIZE]", "3"), .init("scores[first]", "3"), .init("scores[1 + 1]", "2"),
        .init("path[0].title", "'Engine'"), .init("path[LAST].title", "'Loom'"), .init("path[SIZE]", "3"),
        .init("projects[SIZE]", "3"), .init("noPath[FIRST]", "nil"), .init("empties[SIZE]", "0"),
        .init("path.cost", "ordered{100, 250}"), .init("projects.cost", "set{100, 250}"),
        .init("{1, 2, 3}[1]", "2"), .init("matrix[1][0]", "2"), .init("info['color']", "'red'"),
        .init("info[SIZE]", "3"), .init("legacy['a']", "1"), .init("info['none']", "nil"),
        .init("legacy[SIZE]", "2"), .init("nick[0]", "nil"), .init("nick[SIZE]", "nil"),
        .init("scores[3]", "error value.outOfRange"), .init("scores[-1]", "error value.outOfRange"),
        .init("projects[0]", "error expression.type"), .init("projects[FIRST]", "error expression.type"),
        .init("name[0]", "error expression.type"), .init("scores['a']", "error expression.type"),
        .init("names UNION {'Ada', 'Joan'}", "set{'Ada', 'Grace', 'Joan'}"),
        .init("names INTERSECT {'Ada', 'Joan'}", "set{'Ada'}"),
        .init("names MINUS {'Ada'}", "set{'Grace'}"), .init("empties UNION names", "set{'Ada', 'Grace'}"),
        .init("{1, 2} UNION {2, 3}", "set{1, 2, 3}"), .init("{1, 2.0} INTERSECT {1.0, 2}", "set{1, 2.0}"),
        .init("path.title MINUS {'Notes'}", "ordered{'Engine', 'Loom'}"), .init("nick UNION names", "nil"),
        .init("names UNION nick", "set{'Ada', 'Grace'}"), .init("name UNION names", "error expression.type"),
        .init("SUBQUERY(projects, $p, $p.cost > 50).title", "set{'Engine', 'Notes'}"),
        .init("SUBQUERY(projects, $p, $p.cost > 50).@count", "2"),
        .init("SUBQUERY(projects, $p, $p.cost > 50 AND $p.title BEGINSWITH 'N').@count", "1"),
        .init("SUBQUERY(path, $p, $p.owner != nil).title", "ordered{'Engine', 'Loom'}"),
        .init("SUBQUERY(projects, $p, $p.owner == nil)[SIZE]", "1"),
        .init("SUBQUERY(empties, $p, TRUEPREDICATE)", "set{}"),
        .init("SUBQUERY(nick, $p, TRUEPREDICATE)", "nil"), .init("SUBQUERY(scores, $s, $s > 1)", "{3, 2}"),
        .init("SUBQUERY(scores, $s, SUBQUERY(matrix, $m, $s IN $m).@count > 1)", "{2}"),
        .init("SUBQUERY(scores, $x, $x > 1).@count + $x", "7"),
        .init("SUBQUERY(name, $c, TRUEPREDICATE)", "error expression.type"),
        .init("$y := 5", "5"), .init("{$y := 2, $y * 3}", "{2, 6}"), .init("($a := 3) + $a", "6"),
        .init("FETCH('request', $manager.sourceContext, NO)", "{'fetched', 'request'}"),
        .init("FETCH(nil, $manager.sourceContext, YES)", "2"), .init("FETCH('r', name, NO)", "error expression.type"),
        .init("a.b == 1 OR TRUEPREDICATE", "error UnknownKey(key: \"a\")"),
    ]

    @Test("literals give Core Data's values", arguments: literals)
    func literal(line: LanguageCase) throws { #expect(try line.problems() == []) }

    @Test("key paths go through objects, sets, arrays, dictionaries and nil", arguments: keyPaths)
    func keyPath(line: LanguageCase) throws { #expect(try line.problems() == []) }

    @Test("arithmetic follows Core Data's number rules", arguments: arithmetic)
    func calculation(line: LanguageCase) throws { #expect(try line.problems() == []) }

    @Test("choices, indices, sets, subqueries, assignments and fetches", arguments: forms)
    func form(line: LanguageCase) throws { #expect(try line.problems() == []) }
}
