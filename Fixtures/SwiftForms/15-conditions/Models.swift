import SwiftData
#if os(macOS)
import AppKit
typealias Picture = NSImage
#else
import UIKit
typealias Picture = Data
#endif
@Model final class Card {
    var picture: Picture
    #if DEBUG
    var debugText: String = ""
    #elseif canImport(SwiftUI) && !os(watchOS)
    var text: String
    #else
    var never: Int
    #endif
    #if compiler(>=5.9)
    func walk() {
        #if targetEnvironment(simulator)
        print("{")
        #endif
    }
    #endif
    var last: Int
}
