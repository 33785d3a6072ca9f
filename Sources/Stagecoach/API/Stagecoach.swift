// Modules re-exported by `import Stagecoach`, so that a policy source written for Core Data compiles: Foundation,
// models, mapping models.
@_exported import Diagnostics
@_exported import Foundation
@_exported import ManagedModel
@_exported import Mapping
