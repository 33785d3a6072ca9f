import SwiftData
#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

@Model
final class Photo {
    var name: String
    #if os(iOS)
    var isLive: Bool = false
    #else
    var isMac: Bool = true
    #endif
    #if os(macOS) || targetEnvironment(macCatalyst)
    var window: String?
    #endif
    #if swift(>=5.9) && !os(watchOS)
    @Attribute(.externalStorage)
    #endif
    var data: Data?
    #if DEBUG
    var debugNote: String?
    #endif
    init(name: String) { self.name = name }
    #if os(iOS)
    var image: UIImage? { data.flatMap(UIImage.init(data:)) }
    #else
    var image: NSImage? { nil }
    #endif
}
#if DEBUG
@Model final class Sample { var photo: Photo?; init() {} }
#Preview {
    @Previewable @State var count = 1
    @Model final class Inner { var a: Int }
    return Text("\(count)")
}
#endif
