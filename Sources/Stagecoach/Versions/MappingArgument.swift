import Glibc

/// A mapping model as a person names it: a file, perhaps behind the versions that it is for: `M 39..M 40=39to40.cdm`.
///
/// A text names no versions if it is the path of an existing file, or if it has a slash before the equals sign.
package struct MappingArgument: Sendable, Equatable {
    /// The path of the file.
    package let path: String
    /// The versions, by their names in the bundle; nil if the argument names none.
    package let versions: MappingVersions?

    package init(_ text: String) {
        if access(text, F_OK) != 0, let (versions, path) = Self.split(text) {
            (self.versions, self.path) = (versions, path)
        } else {
            (versions, path) = (nil, text)
        }
    }

    /// Returns the same argument with another path for the file, as for a path relative to another folder.
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
        return (MappingVersions(source: source, destination: destination), String(text[text.index(after: equals)...]))
    }
}

/// The versions that a mapping model leads from and to, by name.
package struct MappingVersions: Sendable, Equatable {
    package let source: String
    package let destination: String
}
