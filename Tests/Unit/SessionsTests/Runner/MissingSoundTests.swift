import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// Files of a session with packets that cannot be decoded.
@Suite(.tags(.program), .serialized) struct MissingSoundTests {
  /// Writes a file of Apple Lossless with a damaged packet, a second long.
  private func damagedFile(in folder: URL) throws {
    let path = folder.appendingPathComponent("a.m4a")
    let made = try run(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", "sine=r=48000:d=1", "-c:a", "alac", path.path])
    expectEqual(made.status, 0, "\(made)")
    var bytes = try Data(contentsOf: path)
    let start = try require(bytes.range(of: Data("mdat".utf8))).upperBound
    let middle = start + (bytes.count - start) / 3
    bytes.replaceSubrange(middle..<middle + 300, with: [UInt8](repeating: 0x55, count: 300))
    try bytes.write(to: path)
  }

  @Test func soundThatCannotBeDecodedIsTold() throws {
    try withTemporaryFolder { folder in
      try damagedFile(in: folder)
      var document = SessionDocument(name: "session")
      document.tracks = [SessionTrack(name: "a", files: ["a.m4a"])]
      let rig = try SessionRig(document, in: folder)
      expectEqual(rig.engine.failure(ofTrack: 0), "")
      try rig.engine.start([0], at: 512)
      // It is read ahead of time.
      rig.run(to: 1024)
      rig.engine.service()
      try wait(for: "the message") {
        rig.run(to: Int64(rig.server.counter) + 1024)
        rig.engine.service()
        return !rig.lines.isEmpty
      }
      expectTrue(rig.lines[0].contains("a.m4a: 0.") && rig.lines[0].contains(" s missing "))
      expectEqual(rig.engine.failure(ofTrack: 0), rig.lines[0])
      rig.engine.close()
      expectEqual(Set(rig.lines).count, rig.lines.count)
    }
  }
}
