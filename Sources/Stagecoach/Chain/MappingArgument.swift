import Glibc

/// A mapping model as a person names it: a file, and before it, where they are said, the versions that it leads from and to:
/// `M 39..M 40=39to40.cdm`.
///
/// The versions are told apart from a path by what they are not: a text that is a file's path as it stands, or that has a
/// slash before the equals sign, names no versions.
package struct MappingArgument: Sendable, Equatable {
    /// The file.
    package let path: String
    /// The versions, by their names in the bundle; nil where the argument names none.
    package let versions: MappingVersions?

    package init(_ text: String) {
        if access(text, F_OK) != 0, let (versions, path) = Self.split(text) {
            (self.versions, self.path) = (versions, path)
        } else {
            (versions, path) = (nil, text)
        }
    }

    /// The same argument with another path for the file: of one that is relative to another folder.
    package static func placing(_ text: String, _ place: (String) -> String) -> String {
        guard access(place(text), F_OK) != 0, let (versions, path) = split(text) else { return place(text) }
        return "\(versions.source)..\(versions.destination)=\(place(path))"
    }

    private static func split(_ text: String) -> (MappingVersions, path: String)? {
        guard let dots = text.range(of: ".."), let equals = text[dots.upperBound...].firstIndex(of: "=") else {
            return nil
        }
        let (source, destination) = (String(text[..<dots.lowerBound]), String(text[dots.upperBound..<equals]))
        guard !source.isEmpty, !destination.isEmpty, !(source + destination).contains("/") else { return nil }
        return (
            MappingVersions(source: source, destination: destination), String(text[text.index(after: equals)...])
        )
    }
}

/// The versions that a mapping model leads from and to, by name.
package struct MappingVersions: Sendable, Equatable {
    package let source: String
    package let destination: String
}
