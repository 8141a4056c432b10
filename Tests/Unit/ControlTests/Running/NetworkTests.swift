import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// Two machines, each in a network namespace of its own, joined by JACK's netone.
@Suite(
  .tags(.server, .program), .serialized,
  .enabled(
    if: proof != nil && Namespaces.arePermitted, "needs CUEJACK_PROOF, and network namespaces"))
struct NetworkTests {
  /// Writes a session that follows the transport and plays its file from the first second on.
  private func make(_ name: String, _ file: WaveFile, to port: String, in folder: URL) throws
    -> String
  {
    var document = SessionDocument(name: name)
    document.transport.mode = .follow
    document.tracks = [SessionTrack(name: "noise", files: [file.path])]
    document.tracks[0].start = .seconds(1)
    document.connections = [SessionConnection(from: "\(name):noise_1", to: port)]
    let path = folder.appendingPathComponent(name).path
    _ = try SessionStore(creating: path, document)
    return path
  }

  private func start(_ path: String, _ server: String, in folder: URL) throws -> ManagedProgram {
    let program = try ManagedProgram(
      ["session", "run", path, "--no-connect"],
      environment: [
        "JACK_DEFAULT_SERVER": server, "JACK_NO_START_SERVER": "1", "XDG_RUNTIME_DIR": folder.path,
      ], executable: builtProduct(named: "cuejack").path)
    try wait(for: "the session: \(program.lines)") {
      program.lines.contains { $0.contains(": server \(server)") }
    }
    return program
  }

  /// A rack and its master, each with a session, and what the master hears.
  private struct Rack {
    let jack: JackDaemon
    let capture: CaptureClient
    let noise: WaveFile
    let near: ManagedProgram
    let far: ManagedProgram
    let folder: URL
    /// The namespace of the rack.
    let machine: String
  }

  /// Runs `body` with a rack on netone.
  ///
  /// - Parameter seconds: Length of the file that both sessions play.
  private func withRack(
    period: Int, latency: Int, isSynchronous: Bool, seconds: Int = 2, _ body: (Rack) throws -> Void
  ) throws {
    try Namespaces.with { a, b in
      try withTemporaryFolder { folder in
        let jack = try JackDaemon(
          rate: 48000, period: period, launcher: ["ip", "netns", "exec", a])
        let far = "cuejack-far-\(getpid())"
        let slave = try Child(
          "ip",
          ["netns", "exec", b, "jackd", "-n", far, "-r"] + (isSynchronous ? ["-S"] : [])
            + ["-d", "netone", "-i", "2", "-o", "2", "-I", "0", "-O", "0"],
          output: folder.appendingPathComponent("slave"))
        defer { slave.end() }
        let source = try Child(
          "ip",
          [
            "netns", "exec", a, "jack_netsource", "-s", jack.name, "-H", Namespaces.second, "-N",
            "rack",
          ]
            + ["-n", "\(latency)", "-i", "2", "-o", "2", "-I", "0", "-O", "0"],
          output: folder.appendingPathComponent("source"))
        defer { source.end() }
        let capture = try CaptureClient(on: jack, capacity: (seconds + 30) * 48000)
        try wait(for: "the rack: \(text(of: folder.appendingPathComponent("source")))") {
          let answer = try run("jack_lsp", ["system"], environment: ["JACK_DEFAULT_SERVER": far])
          return answer.status == 0 && capture.ports(matching: "rack:capture_1").count == 1
        }
        let noise = try WaveFile("noise.wav", in: folder, channels: 1, frames: seconds * 48000)
        let near = try start(
          make("near", noise, to: "capture:in_1", in: folder), jack.name, in: folder)
        let remote = try start(
          make("far", noise, to: "system:playback_1", in: folder), far, in: folder)
        defer { for program in [near, remote] { program.child.end() } }
        try capture.connect("rack:capture_1", toInput: 2)
        try wait(for: "the connection") {
          capture.connections(of: "capture:in_1") == ["near:noise_1"]
        }
        try body(
          Rack(
            jack: jack, capture: capture, noise: noise, near: near, far: remote, folder: folder,
            machine: b))
      }
    }
  }

  /// A rack whose jackd is asynchronous, as it is by default, is on the master's frame; a synchronous one is ahead
  /// by one period, whatever the network's latency in periods is.
  @Test(arguments: [
    (1024, 2, false), (1024, 5, false), (256, 5, false), (1024, 2, true), (1024, 5, true),
  ])
  func oneSessionOnTwoMachinesStartsOnOneFrameOfTheMaster(
    period: Int, latency: Int, isSynchronous: Bool
  ) throws {
    try withRack(period: period, latency: latency, isSynchronous: isSynchronous) { rack in
      // On a busy machine, packets of the network come too late now and then, the more the shorter a period is.
      let wanted = period < 1024 ? 1 : 3
      var delays: [Int] = []
      for _ in 0..<12 {
        if let delay = try play(rack.capture, rack.noise, rack.near, in: rack.folder) {
          delays.append(delay)
        }
        if delays.count == wanted { break }
      }
      expectEqual(delays.count, wanted, "the network loses packets in each run")
      expectEqual(Set(delays), [isSynchronous ? -period : 0], "\(delays)")
    }
  }

  /// The rack's jackd runs few cycles while the link is down, and its transport is late from then on.
  @Test func aRackIsOnTheMastersFrameAgainAfterItsLinkWasDown() throws {
    try withRack(period: 1024, latency: 5, isSynchronous: false, seconds: 60) { rack in
      try set(rack.folder, "start")
      rack.capture.arm()
      try require(rack.capture.wait(untilFrames: 4 * 48000))
      try Namespaces.setCable(of: rack.machine, isUp: false)
      try require(rack.capture.wait(untilFrames: 6 * 48000))
      try Namespaces.setCable(of: rack.machine, isUp: true)
      try wait(for: "the rack: \(rack.far.lines)") {
        rack.far.lines.contains {
          $0.contains("transport: the network or this machine's JACK was interrupted")
        }
      }
      let told = try require(
        rack.far.lines.joined().firstMatch(of: /missed (\d+) frames/)?.output.1)
      expectEqual(Int(told).map { $0 > 0 && $0 % 1024 == 0 }, true, "\(told)")
      // The session fades to where it is then.
      let later = rack.capture.capturedFrames + 2 * 48000
      try require(rack.capture.wait(untilFrames: later + 24_000))
      rack.capture.disarm()
      let (a, b) = (rack.capture.samples(channel: 0), rack.capture.samples(channel: 1))
      expectTrue(a[later] != 0 && a[later..<later + 24_000] == b[later..<later + 24_000])
    }
  }

  private func set(_ folder: URL, _ words: String...) throws {
    let result = try run(
      builtProduct(named: "cuejack").path, ["set", "near"] + words,
      environment: ["XDG_RUNTIME_DIR": folder.path])
    expectEqual(result.status, 0, "\(result)")
  }

  /// Plays from the beginning, and returns the frames by which the far session's sound comes later than the near
  /// one's; nil if the network lost some of it.
  private func play(
    _ capture: CaptureClient, _ noise: WaveFile, _ near: ManagedProgram, in folder: URL
  ) throws -> Int? {
    try set(folder, "stop")
    // Silence everywhere, and both sessions at the beginning.
    usleep(500_000)
    capture.arm()
    try set(folder, "start")
    try require(capture.wait(untilFrames: 5 * 48000))
    capture.disarm()
    let (a, b) = (capture.samples(channel: 0), capture.samples(channel: 1))
    guard let i = a.firstIndex(where: { $0 != 0 }), let j = b.firstIndex(where: { $0 != 0 }) else {
      return nil
    }
    let count = noise.frames
    guard i + count <= a.count, j + count <= b.count, capture.discontinuities == 0 else {
      return nil
    }
    // A busy machine may start one of them late.
    let isWhole = [a[i..<i + count], b[j..<j + count]].allSatisfy { Array($0) == noise.samples[0] }
    return isWhole ? j - i : nil
  }
}
