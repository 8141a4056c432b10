import Foundation
import Sessions
import TestSupport
import Testing

/// `cuejack session run` under session managers. The NSM manager is `NSMServer`.
@Suite(.serialized) struct ManagedRunTests {
  /// Starts `cuejack-session` as a manager does.
  private func start(_ server: NSMServer, _ jack: JackDaemon, in folder: URL) throws
    -> ManagedProgram
  {
    let link = folder.appendingPathComponent("cuejack-session").path
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: builtProduct(named: "cuejack").path)
    return try ManagedProgram(
      [], environment: ["NSM_URL": server.url, "JACK_DEFAULT_SERVER": jack.name], executable: link)
  }

  @Test func aManagerOpensSavesSwitchesAndEndsASession() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 48000)
      let jack = try JackDaemon(rate: 48000, period: 256)
      let capture = try CaptureClient(on: jack, capacity: 1)
      let server = try NSMServer()
      defer { server.end() }
      var document = SessionDocument(name: "song")
      document.tracks = [SessionTrack(name: "a", files: [a.path])]
      let path = folder.appendingPathComponent("song.nAAAA").path
      _ = try SessionStore(creating: path, document)

      let program = try start(server, jack, in: folder)
      let announcement = try server.accept()
      #expect(announcement[0] == "Cuejack")
      #expect(announcement[1] == ":switch:dirty:progress:message:")
      #expect(announcement[2] == "cuejack-session")
      #expect(capture.ports(matching: "number").isEmpty)
      let opened = try server.open(path)
      #expect(opened.path == "/reply")
      #expect(capture.ports(matching: "number.nABCD:a_1").count == 1)
      // The document has no connections, and under a manager nothing else is connected.
      #expect(capture.connections(of: "number.nABCD:a_1") == [])
      try capture.connect("number.nABCD:a_1", toInput: 1)
      try wait(for: "the connection in what is saved") {
        #expect(try server.save().path == "/reply")
        return try SessionStore.read(path).document.connections.map(\.to) == ["capture:in_1"]
      }
      // A new project.
      let other = folder.appendingPathComponent("other.nBBBB").path
      #expect(try server.open(other, id: "other.nBBBB").path == "/reply")
      #expect(capture.ports(matching: "number").isEmpty)
      #expect(FileManager.default.fileExists(atPath: "\(other)/session.json"))
      program.child.send(signal: SIGTERM)
      #expect(program.child.wait(seconds: 30) != nil)
    }
  }
}
