import CoreData
import ClinicKit

/// Loops over pairs, closures, numbers with units and a superclass with subscripts, all of the app's own module.
final class VisitPolicy: ClinicMigrationPolicy {
    private var seen = 0

    private func note(_ text: String) { seen += text.count }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        for (code, title) in DiagnosisTable.shared.titles where code != title { print(code, title) }
        for (place, entry) in DiagnosisTable.shared.entries.enumerated() { print(place, entry.title) }
        DiagnosisTable.shared.change(named: "visit") { $0.insert(name: "a", value: 1) }
        DiagnosisTable.shared.update(where: { $0.id == 3 }, with: { $0.isDone = true })
        DiagnosisTable.shared.entries.sorted(by: { $0.order < $1.order }).forEach { print($0.title) }
        DiagnosisTable.shared.perform {
            seen += 1
            note("performed")
        }
        if DiagnosisTable.shared.isOpen {
            note("open")
        }
        let oldest = Date() - 2.weeks
        if let made = sInstance.value(forKey: "made") as? Date, made < oldest, made < 30.days.ago { note("old") }
        self["last"] = sInstance
        print(self["last"] as Any, history["first"], 3.description)
        var text = AttributedString(sInstance.value(forKey: "text") as? String ?? "")
        text += AttributedString("!")
        print(text.characters.count, String(text.characters))
    }
}
