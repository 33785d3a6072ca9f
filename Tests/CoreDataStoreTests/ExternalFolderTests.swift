import CoreDataStore
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Folders of external data") struct ExternalFolderTests {
    /// A folder of external data where everybody may write.
    private func folder(in place: TemporaryFolder) throws -> ExternalFolder {
        let folder = ExternalFolder(store: place.file("new.sqlite"))
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        for path in [folder.support, folder.path] { try #require(chmod(path, 0o777) == 0) }
        return folder
    }

    @Test(
        "Who may write the store may write in its folder, and nobody else",
        arguments: [(0o644, 0o755), (0o664, 0o775), (0o666, 0o777)] as [(mode_t, mode_t)])
    func permissions(store: mode_t, folder mode: mode_t) throws {
        let place = try TemporaryFolder()
        let folder = try folder(in: place)
        #expect(try folder.opened(owner: nil, mode: store) != nil)
        for path in [folder.support, folder.path] {
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == mode, "\(path)")
        }
    }

    @Test("Files come into the folder that was opened, whatever has its name meanwhile")
    func replaced() throws {
        let place = try TemporaryFolder()
        let folder = try folder(in: place)
        let opened = try #require(try folder.opened(owner: nil, mode: 0o644))
        try #require(rename(folder.support, place.file("moved")) == 0)
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data([1]).write(to: URL(fileURLWithPath: opened.inside + "/a"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("moved/_EXTERNAL_DATA")) == ["a"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        withExtendedLifetime(opened) {}
    }

    @Test("There is nothing to open where there is no folder")
    func missing() throws {
        let place = try TemporaryFolder()
        #expect(try ExternalFolder(store: place.file("new.sqlite")).opened(owner: nil, mode: 0o644) == nil)
    }
}
