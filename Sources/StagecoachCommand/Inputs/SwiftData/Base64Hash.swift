import Foundation

/// A version hash in base64, as Core Data's property lists have it.
enum Base64Hash {
    /// Returns the 32 bytes; nil for another text.
    static func bytes(_ text: String) -> [UInt8]? {
        Data(base64Encoded: text).flatMap { $0.count == 32 ? Array($0) : nil }
    }
}
