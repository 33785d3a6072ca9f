import Archives
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SwiftSources

/// The reader that a fuzzer feeds. A reader may refuse an input with a ``MigrationError``; anything else (a trap, a hang, an
/// error of category `internal`, a result that contradicts another) is a finding.
enum FuzzTarget: String, CaseIterable {
    case model
    case plist
    case archive
    case object
    case inflate
    case cache
    case compiledMapping
    case xmlMapping
    case jsonMapping
    case expression
    case predicate
    case pattern
    case metadata
    case journal
    case record
    case state
    case block
    case spill
    case store
    case swiftSources
    case xmlStore
    case binaryStore

    nonisolated(unsafe) static var current = FuzzTarget.model

    /// The beginning of the names of all folders that inputs are written to.
    static let scratch = "/dev/shm/stagecoach-fuzzing-\(getpid())"

    func run(_ bytes: [UInt8]) {
        do {
            try read(bytes)
        } catch let error as MigrationError {
            precondition(error.category != .internal, "an internal error: \(error)")
        } catch {
            // Evaluations may throw what objects throw; there are none here.
            preconditionFailure("an error of another kind: \(error)")
        }
    }

    private func read(_ bytes: [UInt8]) throws {
        switch self {
        case .model:
            let model = try ModelXMLReader.readModel(Data(bytes), path: "fuzzed")
            _ = VersionHash.entityHashes(of: model)
            let cached = try ManagedObjectModel(try ModelCache.decode(try ModelCache.encode(model)))
            precondition(cached.entities.count == model.entities.count, "a cached model has other entities")
        case .plist:
            let value = try BinaryPropertyList.decode(bytes, limits: FuzzTarget.limits)
            let written = try BinaryPropertyList.encode(value)
            let again = try BinaryPropertyList.encode(try BinaryPropertyList.decode(written))
            precondition(again == written, "a property list that was written reads as another")
        case .archive:
            let archive = try KeyedArchive(decoding: bytes, limits: FuzzTarget.limits)
            _ = try archive.topValue()
            for number in 0..<min(archive.objectCount, 1000) {
                do throws(MigrationError) { _ = try archive.value(of: .uid(UInt64(number))) } catch {
                    precondition(error.category != .internal, "an internal error: \(error)")
                }
            }
        case .object:
            // The object of a transformable attribute; written again, it reads as itself.
            guard let object = try ObjectArchive.object(from: bytes) else { return }
            let written = try ObjectArchive.bytes(of: object)
            guard let again = try ObjectArchive.object(from: written) else { preconditionFailure("nothing is read") }
            let writtenAgain = try ObjectArchive.bytes(of: again)
            precondition(writtenAgain == written, "an object that was written reads as another")
        case .inflate:
            let content = try Deflate.inflate(bytes, limit: 1 << 20)
            precondition(content.count <= 1 << 20, "more than the limit")
        case .cache:
            // The uncompressed contents matter: the checksum of deflate would stop most mutations.
            _ = try ManagedObjectModel(try ModelCache.decode(try Deflate.deflate(bytes)))
            _ = try ModelCache.decode(bytes)
        case .compiledMapping: _ = try MappingModel.reading(compiled: bytes, path: "fuzzed").json()
        case .xmlMapping: _ = try MappingModel.reading(xcode: bytes, path: "fuzzed").json()
        case .jsonMapping:
            let models = FuzzModels.shared
            let model = try MappingModel.reading(
                json: bytes, path: "fuzzed", source: models.source, destination: models.destination)
            let text = try model.json()
            _ = try MappingModel.reading(
                json: Array(text.utf8), path: "written", source: models.source, destination: models.destination)
        case .expression:
            let expression = try ValueExpression(parsing: String(decoding: bytes, as: UTF8.self))
            let again = try ValueExpression(parsing: expression.format)
            precondition(
                again.format == expression.format, "a printed expression reads as another: \(expression.format)")
            evaluating { _ = try expression.evaluate(with: nil, variables: ["source": nil]) }
        case .predicate:
            let predicate = try SourcePredicate(format: String(decoding: bytes, as: UTF8.self))
            let again = try SourcePredicate(format: predicate.format)
            precondition(again.format == predicate.format, "a printed predicate reads as another: \(predicate.format)")
            evaluating { _ = try predicate.evaluate(with: nil) }
        case .pattern:
            // The pattern up to the first NUL, then the text.
            let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
            let pattern = ValueExpression(node: .constant(.string(String(decoding: bytes[..<end], as: UTF8.self))))
            let text = ValueExpression(
                node: .constant(.string(String(decoding: bytes[end...].dropFirst(), as: UTF8.self))))
            let predicate = try SourcePredicate(format: "\(text.format) MATCHES[c] \(pattern.format)")
            evaluating { _ = try predicate.evaluate(with: nil) }
        case .metadata: try FuzzStores.readMetadata(bytes)
        case .journal: try FuzzJournals.readFile(bytes)
        case .record: try FuzzJournals.readRecord(bytes)
        case .state: try FuzzStates.read(bytes)
        case .block: try FuzzBlocks.read(bytes)
        case .spill: try FuzzSpills.read(bytes)
        case .store: try FuzzStores.compareReaders(bytes)
        case .xmlStore: try FuzzAtomicStores.read(bytes, .xml)
        case .binaryStore: try FuzzAtomicStores.read(bytes, .binary)
        case .swiftSources: try readSources(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Derives the models of a source. Those that it gives are sound: they are written and read as themselves.
    private func readSources(_ text: String) throws {
        let all = try SwiftSourceModels([("fuzzed.swift", text)], name: "Fuzzed").versions()
        for version in all.versions + all.others {
            switch version.model {
            case .success(let model):
                let hashes = model.entityVersionHashesByName.mapValues { Array($0) }
                precondition(all.nearest(to: hashes) != nil || hashes.isEmpty, "no version is nearest")
                // Known hashes decide classes of one name, and others are tried in vain.
                let known = KnownHashes(origin: "itself", names: Set(hashes.keys), hashes: Set(hashes.values))
                let twice = SwiftSourceModels([("a.swift", text), ("b.swift", text)], name: "Fuzzed")
                _ = try twice.versions(known: [known])
                let cached = try ManagedObjectModel(try ModelCache.decode(try ModelCache.encode(model)))
                precondition(cached.entities.count == model.entities.count, "a cached model has other entities")
            case .failure(let error): precondition(error.category != .internal, "an internal error: \(error)")
            }
        }
    }

    /// Runs an evaluation, which may throw what its values are wrong for.
    private func evaluating(_ body: () throws -> Void) {
        do { try body() } catch let error as MigrationError {
            precondition(error.category != .internal, "an internal error: \(error)")
        } catch {}
    }

    /// Limits as small as inputs are.
    private static let limits = BinaryPropertyList.Limits(bytes: 1 << 20, expandedValues: 1 << 16)
}

/// The models that mapping models are read with.
struct FuzzModels {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    static let shared = FuzzModels()

    private init() {
        func model(_ isNew: Bool) -> ManagedObjectModel {
            var author = EntityDefinition(name: "Author")
            author.attributes = [
                AttributeDefinition(name: isNew ? "fullName" : "name", type: .string),
                AttributeDefinition(name: "age", type: isNew ? .integer32 : .integer16),
                AttributeDefinition(name: "photo", type: .binaryData),
            ]
            var books = RelationshipDefinition(name: "books", destinationEntityName: "Book")
            books.inverseName = "author"
            books.isToMany = true
            books.isOrdered = true
            author.relationships = [books]
            var book = EntityDefinition(name: "Book")
            book.attributes = [
                AttributeDefinition(name: "title", type: .string), AttributeDefinition(name: "price", type: .decimal),
                AttributeDefinition(name: "date", type: .date),
            ]
            var owner = RelationshipDefinition(name: "author", destinationEntityName: "Author")
            owner.inverseName = "books"
            owner.maximumCount = 1
            book.relationships = [owner]
            var definition = ModelDefinition()
            definition.entities = [author, book]
            guard let made = try? ManagedObjectModel(definition) else { preconditionFailure("the models are sound") }
            return made
        }
        source = model(false)
        destination = model(true)
    }
}
