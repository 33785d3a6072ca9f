import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// A source attribute, and a type that might take its numbers.
struct NumberConversion: Hashable {
    let attribute: PropertyReference
    let type: AttributeType
}

/// The loss of an attribute's values in another type.
struct ConversionPrice {
    private var values = 0
    private var cut = 0
    private var part = NumberCut.none
    /// True if a value is out of the type's range.
    var fails = false

    /// Adds a value, and what it loses.
    mutating func add(_ cut: NumberCut) {
        values += 1
        guard cut != .none else { return }
        self.cut += 1
        part = cut
    }

    /// The price in words, such as `cuts the fraction of 2 of 3 values`; nil if no value loses anything.
    var sentence: String? {
        guard cut > 0 else { return nil }
        let what = part == .fraction ? "the fraction" : "digits"
        return "cuts \(what) of \(cut.grouped) of \(values.counted("value"))"
    }
}
