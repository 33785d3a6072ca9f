import Stagecoach

/// The section of a page with the plan as a picture and the legend of its signs.
struct PlanSection {
    private let account: RunAccount

    init(_ account: RunAccount) { self.account = account }

    func write(_ body: inout Markup) {
        guard !account.plans.isEmpty else { return }
        body.element("h2", "Plan")
        let models = account.plans.flatMap(\.models)
        for (number, plan) in account.plans.enumerated() {
            for (place, model) in plan.models.enumerated() {
                var title: [String] = []
                if account.steps.count == account.plans.count {
                    title.append(account.steps[number])
                } else if account.plans.count > 1 {
                    title.append("Migration \(number + 1) of \(account.plans.count)")
                }
                if plan.models.count > 1 { title.append("Mapping model \(place + 1) of \(plan.models.count)") }
                if !title.isEmpty { body.element("h3", title.joined(separator: ", ")) }
                if model.isStaged {
                    body.remark("Policy path: " + model.reasons.joined(separator: "; "))
                }
                body.element("div", ["class": "scroll picture", "tabindex": "0"]) { box in
                    PlanPicture(model).write(&box)
                }
            }
        }
        legend(models, &body)
    }

    private func legend(_ models: [MigrationPlan.Model], _ body: inout Markup) {
        let used = Set(models.flatMap(\.relationships).map(\.resolution.rawValue))
        let words = PlanPicture.Sign.allCases.filter { used.contains($0.rawValue) }
            .map { "\($0.look.picture) \($0.look.meaning)" }
        var text = "A box is a table of the destination in its pass, with the entity mappings that fill it and the "
        text += "relationships that it carries; an arrow leads to the table that a relationship refers to."
        if !words.isEmpty { text += " " + words.joined(separator: ", ") + "." }
        if models.contains(where: { $0.entityMappings.contains { $0.path == .objects } }) {
            text += " ◆ made as objects, for policies or expressions; the others as rows."
        }
        body.remark(text)
    }
}
