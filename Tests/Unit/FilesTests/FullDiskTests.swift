import Codecs
import FileSupport
import Foundation
import RealTime
import Synchronization
import Testing

@testable import Files

/// Files of packets on a disk that fills while they are written.
@Suite(.tags(.program)) struct FullDiskTests {
  /// A disk in memory with room for so many bytes. What fits of a write is written, as on a disk.
  private final class Disk: ByteStore {
    let name = "disk"
    let isWritable = true
    private let store = ReplayedStore()
    private let room: Int64
    init(room: Int64) { self.room = room }

    var bytes: [UInt8] { store.bytes }
    func byteCount() throws(SoundFileError) -> Int64 { try store.byteCount() }
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SoundFileError)
      -> Int
    { try store.read(at: offset, into: buffer) }
    func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
      let count = Int(min(Int64(buffer.count), max(0, room - offset)))
      try store.write(at: offset, from: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      if count < buffer.count { throw SoundFileError(.noRoom, path: name) }
    }
    func setByteCount(_ count: Int64) throws(SoundFileError) { try store.setByteCount(count) }
    func synchronize() {}
  }

  private static let kinds: [(container: Container, codec: Codec)] = [
    (.flac, .flac), (.m4a, .alac), (.m4a, .aac),
  ]

  /// One error says why, and other programs accept the file up to there.
  @Test(arguments: kinds.indices, [150_000, 300_001] as [Int64])
  func whatFittedIsWhole(kind: Int, room: Int64) throws {
    let (container, codec) = Self.kinds[kind]
    let disk = Disk(room: room)
    let encoding = try SoundEncoding(disk, container, codec, rate: 48_000)
    var errors: Set<String> = []
    var seconds = 0
    while errors.isEmpty, seconds < 100 {
      do {
        try encoding.write((0..<48_000).map { _ in Float.random(in: -1...1) })
        try encoding.file.checkpoint()
      } catch {
        errors.insert("\(error)")
      }
      seconds += 1
    }
    #expect(throws: (any Error).self) { try encoding.finish() }
    #expect(throws: SoundFileError(.noRoom, path: "disk")) { try encoding.file.close() }
    expectTrue(errors.count == 1 && errors.first?.contains("no room left") == true, "\(errors)")
    let folder = try TemporaryFolder()
    let path = folder.file("a." + container.extensions[0])
    try Data(disk.bytes).write(to: URL(fileURLWithPath: path))
    let decoded = try run(
      "ffmpeg", ["-v", "error", "-xerror", "-i", path, "-f", "f32le", folder.file("decoded")])
    expectTrue(decoded.status == 0 && decoded.errors.isEmpty, "\(decoded.errors)")
    let frames = try Data(contentsOf: URL(fileURLWithPath: folder.file("decoded"))).count / 4
    expectTrue(frames > 0)
    let own = try MediaFiles.open(path: path)
    expectNil(own.warning)
    expectTrue(try abs(own.frameCount - Int64(frames)) <= 4096)
  }
}
