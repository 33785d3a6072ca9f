import Archives
import TestSupport
import Testing

@Suite("Dictionaries of property lists")
struct PropertyListDictionaryTests {
    @Test("They hold what Swift's hold, with few entries and with many", arguments: [3, 12, 13, 14, 60])
    func model(most: Int) {
        let seed = RandomSeeds.first
        print("dictionaries of property lists, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var (tested, reference) = (PropertyListDictionary(), [String: PropertyListValue]())
            for step in 0..<120 as Range<Int64> {
                let key = "key \(random.below(most))"
                switch random.below(6) {
                case 0:
                    tested[key] = nil
                    reference[key] = nil
                case 1:
                    #expect(tested.add(.integer(step), forKey: key) == (reference[key] == nil))
                    reference[key] = reference[key] ?? .integer(step)
                default:
                    tested[key] = .integer(step)
                    reference[key] = .integer(step)
                }
                #expect(tested[key] == reference[key] && tested.count == reference.count)
            }
            #expect(tested.byKey == reference && tested.keys.sorted() == reference.keys.sorted())
            #expect(tested == PropertyListDictionary(reference))
            if let key = tested.keys.first {
                var other = tested
                other[key] = .null
                #expect(other != tested)
                other[key] = nil
                #expect(other != tested && tested != other)
            }
        }
    }
}
