/// The lines of a plan about resuming a killed run.
struct ResumeNote {
    /// The sentence that says where a killed run resumes.
    let sentence: String
    /// The reasons that prevent resuming inside an entity, by the entity mapping's number in its model.
    private(set) var obstacles: [Int: String] = [:]

    /// - Parameters:
    ///   - own: the mappings of the mapping model, without those of previous ones.
    ///   - count: the number of mapping models.
    init(
        _ own: [PlannedMapping], _ policies: Policies, _ manager: MigrationManager, isStaged: Bool,
        appends: Bool, of count: Int
    ) {
        let inside = "A killed run resumes within the entity whose objects it was migrating"
        guard isStaged else {
            sentence = inside
            return
        }
        for (number, mapping) in own.enumerated() {
            if let policy = policies[mapping], let name = policies.statefulName(mapping, policy) {
                obstacles[number] = "the policy \(name) holds a state, and does not conform to ResumablePolicy"
            } else if mapping.sourceExpression != nil {
                obstacles[number] = "its source expression is evaluated again from its beginning"
            }
        }
        if let obstacle = PolicyCheckpoint.obstacle(own, policies, manager) {
            sentence = "A killed run begins the mapping model's stages again, because \(obstacle)"
        } else if appends || count > 1 {
            sentence =
                inside
                + ", unless policies have changed existing rows: then it begins the mapping model again"
        } else {
            sentence = inside
        }
    }
}
