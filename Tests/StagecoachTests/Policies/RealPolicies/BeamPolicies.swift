import Stagecoach

/// Beam 1 to 2: all documents go into one new database.
final class BeamToBeam2MigrationPolicy: NSEntityMigrationPolicy {
    private var databaseID: UUID?

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        try super.begin(mapping, with: manager)
        let database = NSEntityDescription.insertNewObject(forEntityName: "Database", into: manager.destinationContext)
        let id = UUID()
        let date = Date(timeIntervalSinceReferenceDate: 640_000_000)
        database.setValuesForKeys(["id": id, "title": "Default", "created_at": date, "updated_at": date])
        databaseID = id
    }

    /// `FUNCTION($entityPolicy, 'setDatabase')` is the mapping's expression for each document's database.
    func setDatabase() -> UUID? { databaseID }
}

/// Beam 3 to 4: a journal's date, until now in the title inside its data, gets an attribute of its own.
final class Beam3ToBeam4MigrationPolicy: NSEntityMigrationPolicy {
    private static let months = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]

    /// `FUNCTION($entityPolicy, 'addJournalDateForData:', $source.data)` in the mapping model.
    func addJournalDate(forData data: Data?) -> String? {
        guard let data, let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            object["type"] as? String == "journal", let title = object["title"] as? String
        else { return nil }
        let words = title.lowercased().split(separator: " ")
        guard words.count == 3, let day = Int(words[0]), let month = Self.months.firstIndex(of: String(words[1])),
            let year = Int(words[2])
        else { return nil }
        return String(format: "%04d-%02d-%02d", year, month + 1, day)
    }
}
