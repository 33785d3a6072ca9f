import Stagecoach

/// The encodable result of a check, with facts that only the command knows.
struct CheckOutline: Encodable {
    let report: CheckReport
    /// True if a migration with the same arguments would fail because of its objects.
    let fails: Bool
    /// True if the migration would leave invalid objects out.
    let rejects: Bool
    let maximumRejects: Int?
    let names: MigrationNames
    /// The command's remarks on the way.
    let notes: [String]
    /// The destination version of the last migration checked, if the way takes several; nil otherwise.
    var checkedVersion: String?
    /// The reason why a migration would be refused for its losses; nil if it would not.
    var refusal: String?

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        try names.encode(to: encoder)
        try ["fails": fails].encode(to: encoder)
        if !notes.isEmpty { try ["notes": notes].encode(to: encoder) }
        if let checkedVersion { try ["checkedVersion": checkedVersion].encode(to: encoder) }
    }
}

extension CheckOutline {
    init(_ report: CheckReport, checkedVersion: String?, inputs: MigrationInputs) {
        let options = inputs.request.options
        self.report = report
        self.checkedVersion = checkedVersion
        fails = report.fails(options)
        refusal = report.refusal(options)?.message
        rejects = options.onInvalid == .reject
        maximumRejects = options.maximumRejects
        names = inputs.names
        notes = inputs.notes
    }
}
