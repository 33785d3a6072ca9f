import Foundation

extension EvaluatedValue {
    /// Returns the value as another type, by the rules of compiled programs.
    ///
    /// - Throws: `expression.type` if the types are unrelated, `value.type` for a text that is not such a value,
    ///   `value.outOfRange`.
    func cast(to name: String) throws -> EvaluatedValue {
        if isNull { return .null }
        switch ExpressionType.castTargets[name] {
        case .real: return name == "NSNumber" && isNumber ? self : .real(try castReal(name))
        case .integer: return .integer(try NumberRules.checked(castWhole(name), ExpressionType.range(ofCastTo: name)))
        case .boolean:
            guard isNumber else { throw misfit(name) }
            return .boolean(try NumberRules.checked(castWhole(name), .boolean) == 1)
        case .decimal: return .decimal(try castDecimal(name))
        case .text: return .text(try castText(name))
        case .date:
            if isDate { return self }
            guard isNumber else { throw misfit(name) }
            return .date(try finiteReal())
        case .uri:
            if case .url = self { return self }
            guard case .text(let text) = self else { throw misfit(name) }
            guard let url = URL(string: text) else { throw ProgramFault.notA("URL", text) }
            return .url(url)
        case .uuid:
            if case .uuid = self { return self }
            guard case .text(let text) = self else { throw misfit(name) }
            guard let uuid = UUID(uuidString: text) else { throw ProgramFault.notA("UUID", text) }
            return .uuid(uuid)
        case .data:
            if case .data = self { return self }
            guard case .uuid(let uuid) = self else { throw misfit(name) }
            return .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })
        default: break
        }
        switch name {
        case "NSArray", "Array": return try castCollection(name, .array)
        case "NSSet", "Set": return try castCollection(name, .set)
        case "NSOrderedSet": return try castCollection(name, .orderedSet)
        case "NSDictionary", "Dictionary": return try castDictionary(name)
        default: throw ProgramFault.unsupported("a cast to '\(name)' is unknown")
        }
    }

    private func misfit(_ name: String) -> ProgramFault {
        .type("a value of type \(label) cannot be cast to '\(name)'")
    }

    private func castReal(_ name: String) throws(ProgramFault) -> Double {
        switch self {
        case .date(let seconds): return seconds
        case .text(let text):
            guard let number = Double(text), number.isFinite else { throw ProgramFault.notA("number", text) }
            return number
        default:
            guard isNumber else { throw misfit(name) }
            return try finiteReal()
        }
    }

    private func castWhole(_ name: String) throws(ProgramFault) -> Int64 {
        if let whole { return whole }
        switch self {
        case .text, .decimal:
            let decimal = try castDecimal(name)
            guard let whole = decimal.whole else { throw .range("\(decimal)", "64-bit integers") }
            return whole
        default:
            let number = try castReal(name)
            guard number >= -9_223_372_036_854_775_808, number < 9_223_372_036_854_775_808 else {
                throw .range("\(number)", "64-bit integers")
            }
            return Int64(number)
        }
    }

    private func castDecimal(_ name: String) throws(ProgramFault) -> Decimal {
        switch self {
        case .decimal(let number): return number
        case .boolean, .integer: return exact
        case .text(let text):
            guard let number = Decimal(exactText: text) else { throw ProgramFault.notA("number", text) }
            return number
        case .float(let number):
            guard let decimal = Decimal(printed: number) else { throw .range("\(number)", "Decimal") }
            return decimal
        default:
            let number = try castReal(name)
            guard let decimal = Decimal(printed: number) else { throw .range("\(number)", "Decimal") }
            return decimal
        }
    }

    /// Returns the value as text, as NSNumber prints it: a whole number has no point.
    func castText(_ name: String) throws(ProgramFault) -> String {
        switch self {
        case .text(let text): return text
        case .boolean(let flag): return flag ? "1" : "0"
        case .integer(let number): return String(number)
        case .float(let number): return FloatingText.text(number)
        case .real(let number): return FloatingText.text(number)
        case .decimal(let number): return number.description
        case .uuid(let uuid): return uuid.uuidString
        case .url(let url): return url.absoluteString
        default: throw misfit(name)
        }
    }

    private func castCollection(_ name: String, _ kind: EvaluatedCollection.Kind) throws -> EvaluatedValue {
        guard case .collection(let collection) = self else { throw misfit(name) }
        return collection.kind == kind ? self : .collection(try EvaluatedCollection(collection.members, kind))
    }

    /// Makes a dictionary of a list in which each key comes before its value.
    private func castDictionary(_ name: String) throws -> EvaluatedValue {
        if case .dictionary = self { return self }
        guard case .collection(let list) = self, list.kind == .array, list.count % 2 == 0 else { throw misfit(name) }
        var dictionary: [AnyHashable: Any] = [:]
        for place in stride(from: 0, to: list.count, by: 2) {
            guard let key = list.members[place].object as? AnyHashable else { throw misfit(name) }
            dictionary[key] = list.members[place + 1].object ?? NSNull()
        }
        return .dictionary(EvaluatedDictionary(NSDictionary(dictionary: dictionary)))
    }
}
