import CoreDataStore
import ManagedModel

/// The graph of references between destination tables, as the entity mappings relate their objects.
///
/// Both sides of a one-to-one pair and of a join table point to each other: their links are resolved together. A to-one
/// points from the table that holds the foreign key to the table it refers to.
struct TableGraph {
    /// The tables that each table refers to, by table index.
    private(set) var edges: [Set<Int>]

    init(mappings: [PlannedMapping], destination: StoreSchema) {
        edges = Array(repeating: [], count: destination.tables.count)
        for mapping in mappings {
            guard let table = mapping.destinationTable else { continue }
            for planned in mapping.relationships where planned.findsMembers {
                let other = destination.tableIndex(of: planned.relationship.destination)
                switch planned.storage {
                case .none: continue
                case .toOne:
                    edges[table].insert(other)
                    if let inverse = LinkPlanner.mutualInverse(of: planned.relationship), !inverse.isToMany {
                        edges[other].insert(table)
                    }
                case .toManyByInverse, .toManyHidden: edges[other].insert(table)
                case .join:
                    edges[table].insert(other)
                    edges[other].insert(table)
                }
            }
        }
        for table in edges.indices { edges[table].remove(table) }
    }

    init(edges: [Set<Int>]) { self.edges = edges }

    /// Returns the strongly connected components, each in ascending order. A component comes after those it refers to;
    /// otherwise components are in the order of their lowest table.
    ///
    /// - Complexity: O(tables + edges), and O(components log components) for the order.
    func components() -> [[Int]] {
        let finished = order(of: edges.indices.map { $0 }, along: edges)
        var reversed = [Set<Int>](repeating: [], count: edges.count)
        for (from, targets) in edges.enumerated() { for target in targets { reversed[target].insert(from) } }
        var component = [Int](repeating: -1, count: edges.count)
        var members: [[Int]] = []
        for start in finished.reversed() where component[start] < 0 {
            var group: [Int] = []
            var waiting = [start]
            component[start] = members.count
            while let table = waiting.popLast() {
                group.append(table)
                for next in reversed[table] where component[next] < 0 {
                    component[next] = members.count
                    waiting.append(next)
                }
            }
            members.append(group.sorted())
        }
        return inOrder(members, component)
    }

    /// Returns the tables in the order in which a depth-first search leaves them. It works without recursion, because a
    /// chain may be long.
    private func order(of starts: [Int], along edges: [Set<Int>]) -> [Int] {
        var isSeen = [Bool](repeating: false, count: edges.count)
        var finished: [Int] = []
        for start in starts where !isSeen[start] {
            isSeen[start] = true
            var stack = [(table: start, rest: edges[start].sorted()[...])]
            while let top = stack.indices.last {
                guard let next = stack[top].rest.popFirst() else {
                    finished.append(stack.removeLast().table)
                    continue
                }
                guard !isSeen[next] else { continue }
                isSeen[next] = true
                stack.append((next, edges[next].sorted()[...]))
            }
        }
        return finished
    }

    /// Returns the components, each after those it refers to. Of several, the one with the lowest table comes next.
    private func inOrder(_ members: [[Int]], _ component: [Int]) -> [[Int]] {
        var missing = [Int](repeating: 0, count: members.count)
        var referring = [Set<Int>](repeating: [], count: members.count)
        for (from, targets) in edges.enumerated() {
            for target in targets where component[from] != component[target] {
                if referring[component[target]].insert(component[from]).inserted { missing[component[from]] += 1 }
            }
        }
        let byLeast = members.indices.sorted { members[$0][0] < members[$1][0] }
        var rank = [Int](repeating: 0, count: members.count)
        for (position, index) in byLeast.enumerated() { rank[index] = position }
        var ready = Set(members.indices.filter { missing[$0] == 0 }.map { rank[$0] })
        var result: [[Int]] = []
        while let next = ready.min() {
            ready.remove(next)
            let index = byLeast[next]
            result.append(members[index])
            for other in referring[index] {
                missing[other] -= 1
                if missing[other] == 0 { ready.insert(rank[other]) }
            }
        }
        return result
    }
}
