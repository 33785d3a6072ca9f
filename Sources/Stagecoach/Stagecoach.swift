// What a policy source written for Core Data finds under `import Stagecoach`: Foundation, models, mapping models.
@_exported import Diagnostics
@_exported import Foundation
@_exported import ManagedModel
@_exported import Mapping
