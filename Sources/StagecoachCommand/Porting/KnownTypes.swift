/// The names of types that need no stub: Swift's and Foundation's on Linux, and Stagecoach's.
enum KnownTypes {
    static let names: Set<String> = Set(
        String(decoding: PackageResources.known_types_txt, as: UTF8.self).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.flatMap { $0.split(separator: " ").map(String.init) })
}
