import TestSupport
import Testing

@testable import Stagecoach

@Suite("Groups of tables")
struct TableGraphTests {
    @Test("Components are the sets of tables that reach each other, referred ones first", arguments: 0..<200)
    func components(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let count = 1 + generator.below(12)
        var edges = [Set<Int>](repeating: [], count: count)
        for _ in 0..<generator.below(count * 3) { edges[generator.below(count)].insert(generator.below(count)) }
        for table in edges.indices { edges[table].remove(table) }
        var reaches = (0..<count).map { from in (0..<count).map { $0 == from || edges[from].contains($0) } }
        for middle in 0..<count {
            for from in 0..<count where reaches[from][middle] {
                for target in 0..<count where reaches[middle][target] { reaches[from][target] = true }
            }
        }
        let components = TableGraph(edges: edges).components()
        #expect(components.flatMap { $0 }.sorted() == Array(0..<count), "seed \(seed)")
        for (position, component) in components.enumerated() {
            #expect(component == component.sorted())
            for table in 0..<count {
                let isMutual = reaches[component[0]][table] && reaches[table][component[0]]
                #expect(component.contains(table) == isMutual, "seed \(seed): \(edges)")
            }
            for table in component {
                for target in edges[table] {
                    let place = components.firstIndex { $0.contains(target) } ?? -1
                    #expect(place <= position, "seed \(seed): \(edges)")
                }
            }
        }
    }

    @Test("Tables that refer to nothing keep their order, and a long chain needs no stack")
    func order() {
        #expect(TableGraph(edges: [[], [], []]).components() == [[0], [1], [2]])
        #expect(TableGraph(edges: [[2], [], []]).components() == [[1], [2], [0]])
        let chain = TableGraph(edges: (0..<30_000).map { $0 == 29_999 ? [] : [$0 + 1] }).components()
        #expect(chain.first == [29_999] && chain.last == [0] && chain.count == 30_000)
    }
}
