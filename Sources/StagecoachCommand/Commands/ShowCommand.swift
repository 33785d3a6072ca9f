import Diagnostics
import Foundation
import ManagedModel
import Stagecoach
import SwiftSources

/// `stagecoach show`.
struct ShowCommand {
    private static let objects = 10

    private let arguments: ParsedArguments
    private let console: Console
    private var store: String { arguments.operands[0] }

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        for name in arguments.operands.dropFirst() where arguments[option: "where"] != nil && Self.isObject(name) {
            throw .needsEntity(option: "--where", name)
        }
    }

    /// Prints objects as they are found. What is wrong with one of them is said in its place, and the others follow. Nothing is
    /// written.
    func run() throws {
        try AtomicArgument.during(
            store, model: arguments[option: "model"], memoryLimit: arguments.number("memory-limit")
        ) { try show() }
    }

    private func show() throws {
        let found = try Self.model(of: store, named: arguments[option: "model"])
        let reader = try Self.naming("--model") { () throws(MigrationError) in
            try ObjectReader(
                path: store, model: found.model, isKnownByTables: found.isKnownByTables,
                repairs: arguments.has("repair"), memoryLimit: arguments.number("memory-limit"))
        }
        reader.mostMembers = arguments.number("members") ?? ObjectReader.members
        if reader.lacksLog {
            let name = (store as NSString).lastPathComponent.printable
            console.messages.write(
                "stagecoach: The store is written by way of \(name)-wal, and that file is not beside it: rows may be "
                    + "missing. Copy it with the store if there is one\n")
        }
        var isFirst = true
        func show(_ object: StoredObject) throws {
            let text = try arguments.has("json") ? JSONText.line(object) : ObjectWording.text(object)
            console.output.write(isFirst || arguments.has("json") ? text : "\n" + text)
            isFirst = false
        }
        var exitCode: Int32 = 0
        for name in arguments.operands.dropFirst() {
            do {
                try Self.suggesting(name, among: reader.entityNames) {
                    if Self.isObject(name) { try show(reader.object(name)) } else { try list(name, reader, show) }
                }
            } catch let error as MigrationError where error.category == .noInput || error.category == .data {
                console.messages.write(ErrorWording.text(error))
                if exitCode == 0 { exitCode = ErrorWording.exitCode(error) }
            }
        }
        try reader.close()
        try ToldFailure.check(exitCode)
    }

    private func list(_ entity: String, _ reader: ObjectReader, _ show: (StoredObject) throws -> Void) throws {
        let limit = arguments.number("limit") ?? Self.objects
        let predicate = arguments[option: "where"]
        var (count, hasMore) = (0, false)
        if arguments.has("json") {
            (count, hasMore) = try reader.writeLines(of: entity, where: predicate, limit: limit) {
                console.output.write($0)
            }
        } else {
            try reader.forEach(of: entity, where: predicate) { object in
                hasMore = count == limit
                guard !hasMore else { return false }
                count += 1
                try show(object)
                return true
            }
        }
        if hasMore {
            console.messages.write(
                "stagecoach: The store has more objects of \(entity.printable) than the \(Figures.count(limit)) shown: "
                    + "--limit all shows them, and --where chooses\n")
        }
        guard count == 0 else { return }
        let which = predicate == nil ? "" : " that satisfies the predicate"
        console.messages.write("stagecoach: The store has no object of \(entity.printable)\(which)\n")
    }

    /// Tells whether an operand names an object, and not a whole entity.
    private static func isObject(_ name: String) -> Bool { name.contains("/") }

    /// Runs a closure. If it finds no entity of the name, the error suggests the nearest one.
    static func suggesting<Value>(_ name: String, among entities: [String], _ body: () throws -> Value) throws -> Value
    {
        do { return try body() } catch var error as MigrationError {
            guard error.code == "object.unknownEntity" else { throw error }
            let entity = error.context.entity ?? name
            if let nearest = EditDistance.nearest(to: entity, among: entities) {
                error.remedy = "Did you mean '\(nearest)'?"
            }
            throw error
        }
    }

    /// Finds the model to read a store with: the one that is named, the version of a named bundle that wrote the store, or
    /// the store's cached model.
    static func model(
        of store: String, named argument: String?
    ) throws(MigrationError) -> (model: ManagedObjectModel, isKnownByTables: Bool) {
        // The store is opened first: an error about a model would distract if there is no store.
        let opened = try ModelArgument.open(store)
        let hashes = opened.metadata.versionHashes
        try opened.close()
        if let argument { try SwiftModelArgument.admit(argument, known: [.init(origin: store, hashes: hashes)]) }
        if let argument, ModelLocator.bundle(of: argument) != PathIdentity.withoutSlash(argument) {
            let model = try ModelArgument.load(argument).model
            return (model.fitting(storeHashes: hashes) ?? model, hashes.isEmpty)
        }
        let found = try naming("--model") { () throws(MigrationError) in
            try StoreVersion.find(store: store, bundle: argument)
        }
        return (found.model, found.evidence == .schema)
    }

    /// Runs a closure whose errors advise to name the store's model by `--from`; this command has another option for it.
    private static func naming<Value>(
        _ option: String, _ body: () throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value {
        do { return try body() } catch {
            var named = error
            named.remedy = error.remedy?.replacing("--from", with: option)
            throw named
        }
    }
}
