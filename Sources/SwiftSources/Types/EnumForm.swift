import ManagedModel

/// The form in which SwiftData keeps an enumeration.
enum EnumForm {
    /// One element of the raw type.
    case raw(AttributeType)
    /// A text for each case.
    case cases([String])
    /// A case has a payload.
    case payload
    /// An enumeration whose raw type is none that is stored.
    case unknown(String)

    init(_ scope: TypeScope, _ resolver: TypeResolver) {
        let cases = scope.declaration?.cases ?? []
        switch EnumForm.rawType(of: scope, resolver) {
        case .primitive(let type)?: self = .raw(type)
        case .unknown(let reason)?: self = .unknown(reason)
        default: self = cases.contains(where: \.hasPayload) ? .payload : .cases(cases.map(\.name))
        }
    }

    /// Returns the raw type: the one among the types behind the colon that is no protocol; nil if there is none.
    static func rawType(of scope: TypeScope, _ resolver: TypeResolver) -> ResolvedType? {
        for type in scope.declaration?.inherited ?? [] {
            let found = resolver.resolve(type, in: scope.outer ?? scope, file: scope.place.file)
            if case .primitive = found { return found }
        }
        return nil
    }
}
