import Analysis
import Foundation
import SessionSupport
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// Sound that sessions and `cuejack play` send to receivers of zita-njbridge, over relays of this machine that lose and
/// delay packets.
@Suite(.tags(.server, .program), .serialized) struct SendingTests {
  /// A running zita-n2j.
  private func receiver(_ name: String, _ port: UInt16, on jack: JackDaemon, in folder: URL) throws
    -> Child
  {
    try Child(
      "zita-n2j",
      ["--jserv", jack.name, "--jname", name, "--buff", "100", "127.0.0.1", "\(port)"],
      output: folder.appendingPathComponent("\(name).output"))
  }

  /// Writes noise that changes every 32 frames: a receiver that follows the sender's clock shifts it by some frames. No
  /// frame is silent.
  private func writeNoise(seconds: Int, in folder: URL) throws -> (path: String, samples: [Float]) {
    let source = try WaveFile("source.wav", in: folder, channels: 1, frames: seconds * 1500)
    let samples = source.samples[0].flatMap { [Float](repeating: $0 / 2, count: 32) }
    let path = folder.appendingPathComponent("noise.wav").path
    try writeWave([samples], to: path)
    return (path, samples)
  }

  /// Returns where a part of the noise is heard.
  private func match(_ noise: [Float], _ heard: [Float], _ name: String) throws -> SignalMatch {
    let peak = heard.map(abs).max() ?? 0
    let part = Array(noise[96_000..<96_000 + 16_384])
    let match = try require(SignalMatch(of: part, in: heard), "\(name): peak \(peak)")
    expectTrue(match.coefficient > 0.4, "\(name): \(match), peak \(peak)")
    return match
  }

  /// A session with noise on a bus, which is sent to some ports of this machine.
  private func make(_ ports: [UInt16], in folder: URL, seconds: Int = 8) throws
    -> (path: String, noise: [Float])
  {
    let noise = try writeNoise(seconds: seconds, in: folder)
    var document = SessionDocument(name: "song")
    document.tracks = [SessionTrack(name: "noise", files: [noise.path])]
    document.tracks[0].bus = "main"
    document.tracks[0].volume = -6
    document.buses = [SessionBus(name: "main")]
    document.sends = ports.enumerated().map { index, port in
      SessionSend(name: "far\(index + 1)", bus: "main", to: "127.0.0.1:\(port)")
    }
    let path = folder.appendingPathComponent("song").path
    _ = try SessionStore(creating: path, document)
    return (path, noise.samples)
  }

  private func start(_ path: String, _ more: [String] = [], on jack: JackDaemon, in folder: URL)
    throws -> ManagedProgram
  {
    let program = try ManagedProgram(
      ["session", "run", path, "--no-connect"] + more,
      environment: [
        "JACK_DEFAULT_SERVER": jack.name, "JACK_NO_START_SERVER": "1",
        "XDG_RUNTIME_DIR": folder.path,
      ], executable: builtProduct(named: "cuejack").path)
    _ = try program.value(after: "song: server ")
    return program
  }

  private func set(_ words: String..., in folder: URL) throws {
    let result = try cuejack(
      "set", ["song"] + words, environment: ["XDG_RUNTIME_DIR": folder.path])
    expectEqual(result.status, 0, "\(result)")
  }

  /// Waits until the ports of the session's first send reach its program.
  private func awaitSending(_ capture: CaptureClient, _ program: ManagedProgram) throws {
    try wait(for: "the sender: \(program.lines)") {
      capture.connections(of: "song:far1_1") == ["song-far1:in_1"]
        && capture.connections(of: "song:far1_2") == ["song-far1:in_2"]
    }
  }

  /// Each receiver hears nearly all of the bus, some ten milliseconds late, and both at nearly the same time.
  @Test func twoReceiversHearABusOverALossyNetwork() throws {
    try withTemporaryFolder { folder in
      // A server that waits for late clients would be slower than the network.
      let jack = try JackDaemon(rate: 48000, period: 1024, synchronous: false)
      let ports = try (0..<2).map { _ in try LossyRelay.freePort() }
      let relays = try ports.enumerated().map { try LossyRelay(to: $1, seed: 17 + 100 * $0) }
      defer { for relay in relays { relay.end() } }
      let receivers = try ports.enumerated().map {
        try receiver("hall\($0 + 1)", $1, on: jack, in: folder)
      }
      defer { for receiver in receivers { receiver.end() } }
      let (path, noise) = try make(relays.map(\.port), in: folder)
      let program = try start(path, on: jack, in: folder)
      let capture = try CaptureClient(on: jack, channels: 3, capacity: 9 * 48000)
      try awaitSending(capture, program)
      try capture.connect("song:main_1", toInput: 1)
      for number in 1...2 {
        try require(capture.waitForPort(named: "hall\(number):out_1"))
        try capture.connect("hall\(number):out_1", toInput: number + 1)
      }
      // A receiver follows the sender's clock after a while.
      sleep(3)
      capture.arm()
      try set("start", in: folder)
      try require(capture.wait(untilFrames: capture.capacity))
      try set("quit", in: folder)
      let heard = (0..<3).map { capture.samples(channel: $0) }
      let matches = try heard.enumerated().map { try match(noise, $1, "input \($0 + 1)") }
      let late = matches.map { $0.frames - matches[0].frames }
      for (index, match) in matches.enumerated().dropFirst() {
        expectTrue((1...24000).contains(late[index]), "\(late)")
        // The noise has no silence.
        let range = match.frames..<match.frames + 4 * 48000
        let silent = heard[index][range].count { $0 == 0 }
        expectTrue(silent < range.count / 5, "\(index): \(silent) of \(range.count) frames")
      }
      expectTrue(abs(late[1] - late[2]) < 4800, "\(late)")
      for relay in relays {
        let (passed, lost) = relay.end()
        expectTrue(lost >= 1 && lost < passed / 500, "\(passed), \(lost)")
      }
    }
  }

  /// The program that sends is started again after its end and after the server's, and ends with the session.
  @Test func theSenderComesBack() throws {
    try withTemporaryFolder { folder in
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let (path, _) = try make([try LossyRelay.freePort()], in: folder)
      let program = try start(path, on: jack, in: folder)
      func sender() throws -> Int32 {
        var found: [Int32] = []
        try wait(for: "the sender: \(program.lines)") {
          found = childProcesses(of: program.child.processIdentifier).filter { !hasEnded($0) }
          return found.count == 1
        }
        return found[0]
      }
      let first: Int32
      do {
        let capture = try CaptureClient(on: jack, capacity: 4096)
        try awaitSending(capture, program)
        first = try sender()
        kill(first, SIGKILL)
        _ = try program.value(after: "cuejack: sends[0]: zita-j2n ended with signal 9")
        try wait(for: "another sender") { try sender() != first }
        try awaitSending(capture, program)
      }
      jack.stop()
      try jack.start()
      let capture = try CaptureClient(on: jack, capacity: 4096)
      try awaitSending(capture, program)
      let states = try cuejack(
        "osc", ["song", "/cuejack/sends/1/state"], environment: ["XDG_RUNTIME_DIR": folder.path])
      expectTrue(states.output.contains("sends"), "\(states)")
      let last = try sender()
      // Nobody can end the sender of a session that is killed, but the system.
      program.child.send(signal: SIGKILL)
      try wait(for: "the end of the sender") { hasEnded(last) }
      _ = program.child.wait(seconds: 30)
      let saved = try SessionStore(opening: path).document
      expectEqual(saved.connections, [])
    }
  }

  @Test func playIsHeardByAReceiver() throws {
    try withTemporaryFolder { folder in
      let jack = try JackDaemon(rate: 48000, period: 1024, synchronous: false)
      let port = try LossyRelay.freePort()
      let receiver = try receiver("hall", port, on: jack, in: folder)
      defer { receiver.end() }
      let file = try writeNoise(seconds: 5, in: folder)
      let capture = try CaptureClient(on: jack, channels: 2, capacity: 8 * 48000)
      try require(capture.waitForPort(named: "hall:out_1"))
      for input in 1...2 { try capture.connect("hall:out_\(input)", toInput: input) }
      capture.arm()
      let result = try play(
        [
          file.path, "--server", jack.name, "--send-to", "127.0.0.1:\(port)", "--no-connect",
          "--delay", "5ms",
        ])
      // On a busy machine, frames are not heard on a server that does not wait.
      expectTrue(
        [0, 1].contains(result.status) && result.output.contains("client cuejack-play-send"),
        "\(result)")
      capture.disarm()
      for channel in 0..<2 {
        _ = try match(file.samples, capture.samples(channel: channel), "input \(channel + 1)")
      }
    }
  }

  @Test func whatCannotBeSentIsTold() throws {
    try withTemporaryFolder { folder in
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      func refused(_ receiver: String, _ status: Int32, _ words: String, path: String? = nil) throws
      {
        let result = try play(
          [file.path, "--server", jack.name, "--send-to", receiver],
          environment: path.map { ["PATH": $0] } ?? [:])
        expectTrue(
          result.status == status && result.errors.contains(words), "\(receiver): \(result)")
      }
      try refused("no-such-host.invalid:9700", 1, "the host no-such-host.invalid is not found")
      try refused("127.0.0.1:65536", 64, "a port from 1 to 65535")
      try refused("rtp://127.0.0.1:46000", 1, "RTP is sent by PipeWire")
      try refused("127.0.0.1:9700", 1, "install Debian's package zita-njbridge", path: folder.path)
      let (session, _) = try make([9700], in: folder)
      let run = try cuejack(
        "session", ["run", session, "--server", jack.name],
        environment: ["PATH": folder.path, "NSM_URL": ""])
      expectTrue(
        run.status == 1
          && run.errors.contains("sends[0]: there is no program zita-j2n: install Debian's package"),
        "\(run)")
    }
  }
}
