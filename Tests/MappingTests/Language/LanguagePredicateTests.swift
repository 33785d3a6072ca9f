import Testing

@Suite("The language: predicates")
struct LanguagePredicateTests {
    private static func holding(_ texts: String...) -> [LanguageCase] { texts.map { LanguageCase($0, "TRUE") } }
    private static func failing(_ texts: String...) -> [LanguageCase] { texts.map { LanguageCase($0, "FALSE") } }

    static let comparisons: [LanguageCase] =
        holding(
            "age = 36", "age == 36", "age == 36.0", "age != 35", "age <> 35", "age > 35", "age >= 36", "age => 36",
            "age < 37", "age <= 36", "age =< 36", "36 == age", "age + 1 == 37", "bonus == 12.1", "bonus > 12",
            "name == 'Ada'", "name ==[c] 'ADA'", "name != 'ada'", "name < 'Adb'", "name > 'AD'", "name ==[cd] 'ádA'",
            "active == YES", "active == TRUE", "active == 1", "retired == NO", "retired != active", "active",
            "NOT retired", "nick == nil", "nick == NULL", "nil == nil", "name != nil", "nil != name",
            "hired == CAST(1000, 'NSDate')", "hired < now()", "hired > CAST(0, 'NSDate')", "boss == boss",
            "boss != boss.boss", "boss.boss == nil", "boss.boss.name == nil", "SELF == SELF", "$source == SELF",
            "boss != SELF",
            "id == CAST('00112233-4455-6677-8899-aabbccddeeff', 'NSUUID')", "photo == CAST('0102FF', 'NSData')",
            "home == CAST('https://a.b/c/d.txt?q=1#f', 'NSURL')", "name != 5", "age != '36'", "age != hired",
            "boss != 'Ada'",
            "scores == {3, 1, 2}", "scores != {1, 2, 3}", "name != names", "big > 9.2e18", "big < 9.3e18",
            "small < -9.2e18",
            "'a' < 'b'", "'Z' < 'a'", "'a' ==[n] 'a'", "(age > 30) == YES", "(name == 'Ada') == active")
        + failing(
            "age = 35", "age != 36", "age > 36", "age < 36", "age >= 37", "name == 'ada'", "name == 5", "age == '36'",
            "nick != nil", "nick == 'x'", "nick > 5", "nick < 5", "nick >= nil", "5 > nick", "nil < nil", "nil >= nil",
            "nil != nil",
            "hired == 1000", "boss == nil", "boss == SELF", "retired", "NOT active", "left > now()",
            "name == nil")
        + [
            .init("name > 5", "error expression.type"), .init("hired > 5", "error expression.type"),
            .init("boss > boss", "error expression.type"), .init("id < id", "error expression.type"),
            .init("projects > 2", "error expression.type"), .init("nick", "nil"), .init("NOT nick", "TRUE"),
            .init("NOT name", "error expression.type"),
            .init("name AND active", "error expression.type"),
        ]

    static let connectives: [LanguageCase] =
        holding(
            "age > 30 AND name == 'Ada'", "age > 30 && name == 'Ada'", "age > 40 OR name == 'Ada'",
            "age > 40 || name == 'Ada'", "NOT age > 40", "!(age > 40)", "! age > 40", "NOT (age > 40 OR name == 'x')",
            "TRUEPREDICATE", "NOT FALSEPREDICATE", "age == 1 AND age == 2 OR age == 36",
            "age == 36 OR age == 1 AND age == 2",
            "(age == 36 OR age == 1) AND name == 'Ada'", "not not active", "active AND NOT retired",
            "age == 1 OR age == 36 AND active", "zero == 0 OR 1 / zero == 1", "NOT (zero != 0 AND 1 / zero == 1)",
            "NOT (nick > 5)", "NOT nick == 'x'", "trUE = YeS", "age > 30 and NoT age > 40")
        + failing(
            "age > 30 AND name == 'x'", "age > 40 OR name == 'x'", "FALSEPREDICATE", "NOT TRUEPREDICATE",
            "(age == 36 OR age == 1) AND age == 2", "active AND retired", "NOT (active OR retired)")

    static let texts: [LanguageCase] =
        holding(
            "name BEGINSWITH 'A'", "name beginswith[c] 'a'", "name ENDSWITH 'a'", "name CONTAINS 'd'",
            "name CONTAINS[c] 'D'",
            "word BEGINSWITH[d] 'Gro'", "word CONTAINS[cd] 'E'", "name BEGINSWITH ''", "name CONTAINS ''",
            "name LIKE 'A*'", "name LIKE 'A?a'", "name LIKE '*d*'", "name LIKE[c] 'aDA'", "name LIKE '???'",
            "'a*b' LIKE 'a\\\\*b'",
            "empty LIKE '*'", "empty LIKE ''", "name MATCHES 'A.a'", "name MATCHES '[A-Z][a-z]+'",
            "code MATCHES '[A-Z]-\\\\d+'",
            "name MATCHES[c] 'ADA'", "email MATCHES '^[a-z]+@[a-z.]+$'", "email LIKE '*@*.com'",
            "code MATCHES '(A|B)-(16|17)'",
            "name IN 'Ada Lovelace'", "'d' IN name", "name IN[c] 'ADA LOVELACE'", "'x' IN[c] 'XYZ'",
            "email ENDSWITH '.com'",
            "name BEGINSWITH $who", "boss.name LIKE 'Ch*'", "name MATCHES name", "home CONTAINS 'a.b'",
            "name LIKE name",
            "name BEGINSWITH[cd] 'á'", "'\u{E9}' !=[n] 'e'", "name CONTAINS[l] 'd'")
        + failing(
            "name BEGINSWITH 'a'", "name ENDSWITH 'A'", "name CONTAINS 'D'", "name LIKE 'a*'", "name LIKE 'A'",
            "name LIKE 'A??a'",
            "name MATCHES 'A'", "name MATCHES 'da'", "'ab' LIKE 'a\\\\*b'", "name IN 'Lovelace'", "nick BEGINSWITH 'a'",
            "nick CONTAINS 'a'",
            "nick LIKE '*'", "nick MATCHES '.*'", "'a' IN nick", "name CONTAINS nick", "name BEGINSWITH nick",
            "nick IN 'abc'",
            "NOT name BEGINSWITH 'A'", "'e\u{301}' == '\u{E9}'")
        + [
            .init("age BEGINSWITH '3'", "error expression.type"), .init("name CONTAINS 5", "error expression.type"),
            .init("5 IN 'abc5'", "error expression.type"), .init("name MATCHES '('", "error expression.syntax"),
            .init("name MATCHES '(a)\\\\1'", "FALSE"), .init("name MATCHES '(?=A).(.)a'", "TRUE"),
            .init("name MATCHES '(?m)a'", "FALSE"), .init("name MATCHES '(?y)a'", "error expression.syntax"),
            .init("name LIKE 5", "error expression.type"),
        ]

    static let lists: [LanguageCase] =
        holding(
            "age BETWEEN {1, 40}", "age BETWEEN {36, 36}", "age BETWEEN $range", "name BETWEEN {'A', 'B'}",
            "hired BETWEEN {CAST(0, 'NSDate'), now()}",
            "salary BETWEEN {age, 10000}", "bonus BETWEEN {12, 12.5}", "5 BETWEEN { 1 , 10 }", "age IN {1, 36}",
            "age IN {1, 36.0}",
            "name IN {'Ada', 'Grace'}", "name IN[c] {'ADA'}", "name IN names", "'Ada' IN names", "NOT name IN {'x'}",
            "NOT (age IN {})",
            "2 IN scores", "boss IN projects.owner", "names CONTAINS 'Ada'", "names CONTAINS[c] 'ada'",
            "scores CONTAINS 2",
            "{1, 2} CONTAINS 1", "'red' IN info", "info CONTAINS 5", "nil IN {1, nil}", "mixed CONTAINS nil",
            "SELF IN {SELF}", "$who IN names",
            "path CONTAINS path[0]", "'steam' IN projects.@distinctUnionOfArrays.tags", "{1, 2} IN matrix",
            "projects.@count == 3", "projects.@count > 2", "projects.@sum.cost > 300", "empties.@count == 0",
            "projects[SIZE] == 3",
            "SUBQUERY(projects, $p, $p.title == $title).@count == 1", "SUBQUERY(projects, $p, $p.cost > $x).@count > 0",
            "SUBQUERY(projects, $p, $p.owner.name == 'Charles' AND $p.cost == nil).@count == 1",
            "path.title == path.title",
            "count(projects) == 3", "sum({1, 2}) == 3", "TERNARY(active, 1, 0) == 1", "projects.owner == projects.owner"
        )
        + failing(
            "age BETWEEN {37, 40}", "age BETWEEN {40, 1}", "nick BETWEEN {1, 2}", "age BETWEEN {nil, 40}", "age IN {}",
            "age IN {35}",
            "age IN {'36'}", "name IN {'ADA'}", "nick IN {1, 2}", "nick IN names", "age IN nick", "4 IN scores",
            "empties CONTAINS 'x'",
            "nick CONTAINS 1", "boss IN empties", "projects.@count == 2",
            "SUBQUERY(projects, $p, $p.cost > 999).@count > 0")
        + [
            .init("age BETWEEN 5", "error expression.type"), .init("age BETWEEN {1}", "error expression.type"),
            .init("age IN 5", "error expression.type"), .init("age BETWEEN {'a', 'b'}", "error expression.type"),
        ]

    static let quantifiers: [LanguageCase] =
        holding(
            "ANY projects.title == 'Notes'", "SOME projects.title == 'Notes'", "ANY projects.cost > 200",
            "ALL projects.due > CAST(0, 'NSDate')",
            "NONE projects.title == 'x'", "ANY projects.owner.name == 'Charles'", "ANY path.title BEGINSWITH 'L'",
            "ANY scores > 2",
            "ALL scores > 0", "NONE scores > 3", "ANY {1, 2, 3} == 2", "ALL {1, 2} < 3", "ALL empties.title == 'x'",
            "NONE empties.title == 'x'",
            "ALL nick == 5", "NONE nick == 5", "ANY boss.name == 'Charles'", "ANY boss.projects.title == 'Loom'",
            "ALL boss.age == 50",
            "ANY projects.title IN {'Notes', 'x'}", "ALL projects.title IN {'Notes', 'Engine', 'Loom'}",
            "ANY projects.title LIKE 'N*'",
            "ANY projects.title CONTAINS[c] 'NOTE'", "ANY projects.tags == 'paper'",
            "ANY projects.people.name == 'Charles'",
            "NOT ANY projects.title == 'x'", "ANY projects.title == $title", "ALL projects.cost > 0",
            "ANY projects.owner == boss",
            "ANY projects.cost BETWEEN {200, 300}", "any names == 'Ada' AND all names != 'x'",
            "ANY projects == path[0]", "ALL path.cost > 0",
            "ANY (names) ==[c] 'GRACE'", "ALL path.title MATCHES '[A-Z][a-z]+'")
        + failing(
            "ANY projects.title == 'x'", "ALL projects.title == 'Notes'", "NONE projects.title == 'Notes'",
            "ANY empties.title == 'x'", "ANY nick == 5",
            "ANY scores > 3", "ALL scores > 1", "NOT ANY projects.title == 'Notes'", "ANY nick == nil",
            "ANY path.cost == nil")

    @Test("comparisons: numbers, texts, dates, objects, nil, unlike types", arguments: comparisons)
    func comparison(line: LanguageCase) throws { #expect(try line.problems() == []) }

    @Test("AND, OR and NOT, in words and signs, decide as soon as they can", arguments: connectives)
    func connective(line: LanguageCase) throws { #expect(try line.problems() == []) }

    @Test("text operators and their options", arguments: texts)
    func text(line: LanguageCase) throws { #expect(try line.problems() == []) }

    @Test("BETWEEN, IN and CONTAINS over lists, sets and dictionaries", arguments: lists)
    func list(line: LanguageCase) throws { #expect(try line.problems() == []) }

    @Test("ANY, SOME, ALL and NONE over to-many and to-one paths", arguments: quantifiers)
    func quantifier(line: LanguageCase) throws { #expect(try line.problems() == []) }
}
