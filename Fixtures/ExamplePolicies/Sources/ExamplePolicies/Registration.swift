import Stagecoach

/// The function that stagecoach calls once, after it has loaded the library.
@_cdecl("stagecoach_register_policies")
public func registerPolicies() {
    PolicyRegistry.register(ContactPolicy.self) { functions in
        functions.add("initialsOfName:", ContactPolicy.initials(ofName:))
    }
}
