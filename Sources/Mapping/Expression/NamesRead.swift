extension SourcePredicate {
    /// The names of the properties that the predicate may read, of whatever objects: all components of its key paths and of its
    /// texts, which may be keys. Nil if it may read others too, because it calls functions of objects.
    package var namesRead: Set<String>? {
        var names: Set<String> = []
        for case .expression(let node) in syntax.descendants {
            switch node {
            case .keyPath(_, let components): names.formUnion(components)
            case .constant(.string(let text)): names.formUnion(text.split(separator: ".").map(String.init))
            case .function(_?, let selector, _) where selector != "self": return nil
            case .anyKey, .opaque: return nil
            default: break
            }
        }
        return names
    }
}
