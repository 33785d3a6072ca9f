/// A policy class of ported sources, with the functions that mapping models can call on it.
struct PolicyRegistration: Encodable {
    struct Function: Encodable {
        let selector: String
        /// The Swift name of the method: `BookPolicy.isbn(forIsbn:)`.
        let method: String
        let line: Int
    }

    let className: String
    let file: String
    let line: Int
    /// The name given by `@objc(Name)`, which mapping models may use.
    let objectiveCName: String?
    /// True if the class is invisible to other files.
    let isPrivate: Bool
    let functions: [Function]

    /// The Swift statement that registers the policy.
    let statement: String

    init(
        className: String, file: String, line: Int, objectiveCName: String? = nil, isPrivate: Bool = false,
        functions: [Function]
    ) {
        (self.className, self.file, self.line) = (className, file, line)
        (self.objectiveCName, self.isPrivate, self.functions) = (objectiveCName, isPrivate, functions)
        let name = objectiveCName.map { ", named: \"\($0)\"" } ?? ""
        let lines = functions.map { "    functions.add(\"\($0.selector)\", \($0.method))" }
        statement =
            "PolicyRegistry.register(\(className).self\(name))"
            + (lines.isEmpty ? "" : ([" { functions in"] + lines + ["}"]).joined(separator: "\n"))
    }

    /// Returns the registrations of all declared policies: classes that inherit from the framework's policy class, directly or
    /// indirectly.
    ///
    /// Expression functions are the methods that the Objective-C runtime would find: those marked `@objc`, and those of a class
    /// marked `@objcMembers`.
    static func registrations(of declarations: SourceDeclarations) -> [PolicyRegistration] {
        declarations.classes.filter { declarations.policyClasses.contains($0.name) }.map { declared in
            let own = declared.methods.filter { declared.isObjcMembers || $0.isObjc }
            let added = declarations.extensions.filter { $0.name == declared.name }.flatMap { group in
                group.methods.filter { declared.isObjcMembers || group.isObjcMembers || $0.isObjc }
            }
            let callable = (own + added).filter {
                !$0.isOverride && !$0.isStatic && !$0.isPrivate && !$0.isUncallable
            }
            return PolicyRegistration(
                className: declared.name, file: declared.file, line: declared.line,
                objectiveCName: declared.objectiveCName.flatMap { $0 == declared.name ? nil : $0 },
                isPrivate: declared.isPrivate,
                functions: callable.map {
                    Function(selector: $0.selector, method: "\(declared.name).\($0.reference)", line: $0.line)
                })
        }
    }

    /// Returns the source of the function that a shared library of policies exports.
    static func registrationSource(_ registrations: [PolicyRegistration]) -> String {
        var lines = [
            "import Stagecoach", "",
            "/// Called by stagecoach when the library is given with --policies.",
            "@_cdecl(\"stagecoach_register_policies\")", "public func registerPolicies() {",
        ]
        for registration in registrations where !registration.isPrivate {
            lines += registration.statement.split(separator: "\n").map { "    " + $0 }
        }
        lines.append("}")
        return lines.joined(separator: "\n") + "\n"
    }
}
