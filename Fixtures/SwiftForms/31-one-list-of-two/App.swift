import SwiftUI
import SwiftData
@main struct TheApp: App {
    var body: some Scene {
        WindowGroup { ContentView() }.modelContainer(for: [A.self, B.self], inMemory: false)
    }
}
#Preview { ContentView().modelContainer(for: A.self, inMemory: true) }
