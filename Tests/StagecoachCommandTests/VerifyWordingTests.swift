import Foundation
import Stagecoach
import Testing

@testable import StagecoachCommand

@Suite("Wording of a verification") struct VerifyWordingTests {
    private static func lastLine(
        _ entities: String, taken: Int = 0, notRecomputed: String = "", differences: Int = 0
    ) throws -> String {
        let text = """
            {"source": "old.sqlite", "destination": "new.sqlite", "mappings": [], "relationships": [], "sourceLinks": [],
            "differences": [],
            "differenceCount": \(differences), "countByKind": {\(differences > 0 ? "\"value\": \(differences)" : "")},
            "notes": [], "ranPolicies": false, "notRecomputed": [\(notRecomputed)],
            "compared": {"takenForRejected": \(taken), "entities": [\(entities)]}}
            """
        let report = try JSONDecoder().decode(VerificationReport.self, from: Data(text.utf8))
        let lines = VerifyWording.text(report, MigrationNames()).split(separator: "\n")
        return lines.last.map(String.init) ?? ""
    }

    private static func entity(
        _ name: String, _ mapping: String, recomputed: Int = 0, rerun: Int = 0, checked: Int = 0, passedOver: Int = 0,
        _ reason: String? = nil
    ) -> String {
        let why = reason.map { #", "reason": "\#($0)""# } ?? ""
        return """
            {"entity": "\(name)", "mappings": ["\(mapping)"], "recomputed": \(recomputed), "rerun": \(rerun),
            "checked": \(checked), "passedOver": \(passedOver)\(why)}
            """
    }

    private static let author = entity("Author", "AuthorToAuthor", recomputed: 150_000)
    private static let policy = "a policy made them"

    @Test("Where all was recomputed, the destination is what the migration makes")
    func all() throws {
        #expect(
            try Self.lastLine(Self.author)
                == "The destination is what the migration makes. All 150,000 objects recomputed.")
        #expect(
            try Self.lastLine(Self.entity("Author", "A", recomputed: 1, passedOver: 20))
                == "The destination is what the migration makes. 1 object recomputed; 20 that stood in the destination "
                + "before were passed over.")
    }

    @Test("Where policies made objects, it says how many, which, and why")
    func policies() throws {
        let item = Self.entity("Item", "ItemToItem", checked: 55_000, Self.policy)
        let skipped = #"{"subject": "Author.items", "reason": "a policy", "isRerun": false}"#
        #expect(
            try Self.lastLine([Self.author, item].joined(separator: ","), notRecomputed: skipped)
                == "Nothing differs of what was compared. 150,000 of 205,000 objects recomputed (Author); 55,000 checked "
                + "against the model's rules because a policy made them (Item by ItemToItem); not recomputed: Author.items."
        )
        let again = Self.entity("Item", "ItemToItem", rerun: 55_000, Self.policy)
        #expect(
            try Self.lastLine([Self.author, again].joined(separator: ","))
                == "Nothing differs of what was compared. 150,000 of 205,000 objects recomputed (Author); 55,000 compared "
                + "with what the policies made when they ran again, which trusts them (Item by ItemToItem).")
    }

    @Test("Objects that were taken for rejected are told, and differences come first")
    func others() throws {
        #expect(
            try Self.lastLine(Self.author, taken: 3)
                == "Nothing differs of what was compared. All 150,000 objects recomputed; 3 that are missing were taken "
                + "for rejected, as no reject file names them.")
        #expect(
            try Self.lastLine(Self.author, differences: 2)
                == "The destination differs in 2 places: wrong value 2. All 150,000 objects recomputed.")
        #expect(
            try Self.lastLine(Self.author, differences: 1)
                == "The destination differs in one place: wrong value 1. All 150,000 objects recomputed.")
    }
}
