import CZlib
import Diagnostics

/// Raw deflate streams (RFC 1951, no zlib header), as cached models are stored.
package enum Deflate {
    private static let chunkSize = 64 << 10

    /// Decompresses a stream, which must take up all the bytes.
    ///
    /// - Parameters:
    ///   - bytes: the whole stream.
    ///   - limit: the most bytes of output; more is an error.
    /// - Returns: the contents.
    /// - Throws: `archive.deflate` (damaged, cut off, or followed by other data), `archive.limit`.
    /// - Complexity: memory grows with the contents, not with the limit.
    package static func inflate(_ bytes: [UInt8], limit: Int) throws(MigrationError) -> [UInt8] {
        guard bytes.count <= Int(UInt32.max) else {
            throw .archive("archive.limit", "The compressed data is larger than 4 GiB")
        }
        var stream = z_stream()
        guard stagecoach_inflate_init(&stream, -15) == Z_OK else {
            throw MigrationError("archive.zlib", .internal, "zlib cannot be started")
        }
        defer { inflateEnd(&stream) }
        let (output, status) = run(&stream, on: bytes, CZlib.inflate, Z_NO_FLUSH, limit: limit)
        guard output.count <= limit else {
            throw .archive("archive.limit", "The compressed data expands to more than \(limit.counted("byte"))")
        }
        guard status == Z_STREAM_END else {
            throw .archive("archive.deflate", "The compressed data is damaged or cut off")
        }
        guard stream.avail_in == 0 else {
            throw .archive("archive.deflate", "The compressed data is followed by \(stream.avail_in) other bytes")
        }
        return output
    }

    /// Compresses bytes.
    ///
    /// - Returns: the stream. Equal bytes give equal streams with the same version of zlib.
    /// - Throws: `archive.limit` above 4 GiB, `archive.zlib`.
    package static func deflate(_ bytes: [UInt8]) throws(MigrationError) -> [UInt8] {
        guard bytes.count <= Int(UInt32.max) else {
            throw .archive("archive.limit", "The data to compress is larger than 4 GiB")
        }
        var stream = z_stream()
        guard stagecoach_deflate_init(&stream, Z_DEFAULT_COMPRESSION, -15) == Z_OK else {
            throw MigrationError("archive.zlib", .internal, "zlib cannot be started")
        }
        defer { deflateEnd(&stream) }
        let (output, status) = run(&stream, on: bytes, CZlib.deflate, Z_FINISH, limit: .max)
        guard status == Z_STREAM_END else {
            throw MigrationError("archive.zlib", .internal, "zlib failed with \(status)")
        }
        return output
    }

    /// Passes bytes through a stream, until it ends or fails, or its output exceeds the limit.
    private static func run(
        _ stream: inout z_stream, on bytes: [UInt8], _ step: (z_streamp?, Int32) -> Int32, _ flush: Int32, limit: Int
    ) -> (output: [UInt8], status: Int32) {
        var input = bytes
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: chunkSize)
        var status = Z_OK
        input.withUnsafeMutableBufferPointer { source in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            chunk.withUnsafeMutableBufferPointer { target in
                while status == Z_OK, output.count <= limit {
                    stream.next_out = target.baseAddress
                    stream.avail_out = UInt32(target.count)
                    status = step(&stream, flush)
                    output.append(contentsOf: target[..<(target.count - Int(stream.avail_out))])
                }
            }
        }
        return (output, status)
    }
}
