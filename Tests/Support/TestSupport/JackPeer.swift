import Foundation

/// A server that belongs to one test, for child processes.
package protocol PeerServer: AnyObject {
  /// Environment variables with which a program uses the server.
  var environment: [String: String] { get }
  /// Full names of the playback inputs.
  var inputs: [String] { get }
  /// The server's output.
  var log: String { get }
  /// Kills the server, as in a crash.
  func kill()
  /// Starts the server again, optionally with another rate and period.
  func start(rate: Int?, period: Int?) throws
}

extension JackDaemon: PeerServer {
  package var environment: [String: String] {
    ["JACK_DEFAULT_SERVER": name, "JACK_NO_START_SERVER": "1"]
  }
  package var inputs: [String] { ["system:playback_1", "system:playback_2"] }
}

/// A `jack-peer` process: a JACK client on a test's server. Any thread.
package final class JackPeer: @unchecked Sendable {
  private let child: Child
  private let output: URL
  private let recording: URL?

  private init(
    _ arguments: [String], on server: any PeerServer, recording: URL? = nil,
    isPassive: Bool = false, locksPeriod: Bool = true
  ) throws {
    output = Self.newFile("output")
    self.recording = recording
    var environment = ProcessInfo.processInfo.environment.merging(server.environment) { $1 }
    if isPassive { environment["PIPEWIRE_LINK_PASSIVE"] = "true" }
    if !locksPeriod { environment["PIPEWIRE_PROPS"] = "{ node.lock-quantum = false }" }
    child = try Child(
      builtProduct(named: "jack-peer").path, arguments, environment: environment, output: output)
    let end = Date(timeIntervalSinceNow: 90)
    while !text(of: output).contains("ready") {
      if child.wait(seconds: 0.005) != nil || Date() > end {
        throw SupportError("jack-peer is not ready: \(text(of: output))\n\(server.log)")
      }
    }
  }

  deinit {
    child.end()
    try? FileManager.default.removeItem(at: output)
    if let recording { try? FileManager.default.removeItem(at: recording) }
  }

  private static func newFile(_ suffix: String) -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent(
      "cuejack-peer-\(UUID().uuidString).\(suffix)")
  }

  /// Plays silence to the sink, which keeps it running.
  package static func silence(on server: any PeerServer) throws -> JackPeer {
    try JackPeer(["silence"] + server.inputs, on: server)
  }

  /// Plays the samples of an `Emitter` from its outputs `emitter:out_1` … to `ports`.
  package static func numbers(
    channels: Int = 2, to ports: [String] = [], on server: any PeerServer
  ) throws -> JackPeer {
    try JackPeer(["numbers", "\(channels)"] + ports, on: server)
  }

  /// Registers `keys:out`, which sends a note with `strike()`, `offset` frames into a cycle.
  package static func key(offset: Int, on server: any PeerServer) throws -> JackPeer {
    try JackPeer(["key", "\(offset)"], on: server)
  }

  /// Sends the note of a `key` in its next cycle.
  package func strike() { child.send(signal: SIGUSR1) }

  /// Ends a `key`.
  ///
  /// - Returns: JACK frame time of the note.
  package func endOfKey() throws -> UInt32 {
    child.end()
    guard let match = text(of: output).firstMatch(of: #/(?m)^note (\d+)$/#),
      let frame = UInt32(match.output.1)
    else { throw SupportError("jack-peer sent no note: \(text(of: output))") }
    return frame
  }

  /// Plays a sine with an offset from its outputs `tone:out_1` and `tone:out_2`. These look like those of
  /// a sound card. On a server without capture ports, programs connect to them before they start. The
  /// second one has half the amplitude and no offset.
  package static func tone(
    hertz: Double, amplitude: Double, offset: Double = 0, on server: any PeerServer
  ) throws -> JackPeer {
    try JackPeer(["tone", "\(hertz)", "\(amplitude)", "\(offset)"], on: server)
  }

  /// Ends a `numbers`, or waits until it has ended with its server.
  ///
  /// - Returns: The end of its last cycle: JACK frame time and predicted host time in microseconds; and the
  ///   frame time of the end of the cycle before it.
  package func endOfNumbers() throws -> (frame: UInt32, microseconds: UInt64, before: UInt32) {
    child.end()
    guard let match = text(of: output).firstMatch(of: #/(?m)^end (\d+) (\d+) (\d+)$/#),
      let frame = UInt32(match.output.1), let microseconds = UInt64(match.output.2),
      let before = UInt32(match.output.3)
    else { throw SupportError("jack-peer ran no cycle: \(text(of: output))") }
    return (frame, microseconds, before)
  }

  /// Records `ports`, by default the monitor of the sink, to its inputs `capture:in_1` …. It does not
  /// wake an idle sink.
  ///
  /// - Parameter locksPeriod: False lets other clients of PipeWire change the period.
  package static func capture(
    _ ports: [String] = PipeWireDaemon.monitors, seconds: Double = 60, locksPeriod: Bool = true,
    on server: any PeerServer
  ) throws -> JackPeer {
    let file = newFile("capture")
    return try JackPeer(
      ["capture", file.path, "\(ports.count)", "\(seconds)"] + ports, on: server, recording: file,
      isPassive: true, locksPeriod: locksPeriod)
  }

  /// Records its inputs `NAME:in_1` …, which look like those of a sound card. On a server without
  /// playback ports, programs connect to them before they start.
  ///
  /// libjack serves one server per process: a test with several servers at a time records each in a
  /// process of its own, and gives every client on any of them a name of its own.
  package static func card(
    _ name: String = "card", channels: Int = 2, seconds: Double = 60, on server: any PeerServer
  ) throws -> JackPeer {
    let file = newFile("capture")
    return try JackPeer(
      ["card", file.path, "\(channels)", "\(seconds)", name], on: server, recording: file)
  }

  /// Ends a capture and returns the recording.
  package func end() throws -> PeerRecording {
    child.end()
    guard let recording, child.wait(seconds: 0) == 0 else {
      throw SupportError("jack-peer failed: \(text(of: output))")
    }
    defer { try? FileManager.default.removeItem(at: recording) }
    return try PeerRecording(Data(contentsOf: recording))
  }
}

/// A recording of a `jack-peer`.
package struct PeerRecording: Sendable {
  package struct Cycle: Sendable {
    /// Index of the cycle's first frame in `samples`.
    package let frame: Int
    /// JACK frame time of that frame.
    package let counter: UInt32
    /// Predicted start of the next cycle, in microseconds of the monotonic clock.
    package let next: UInt64
  }
  package let cycles: [Cycle]
  /// The samples of each channel.
  package let samples: [[Float]]

  init(_ data: Data) throws {
    func number(_ index: Int) -> UInt64 {
      data.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
    }
    guard data.count >= 24 else { throw SupportError("the recording is empty") }
    let (channels, frames, count) = (Int(number(0)), Int(number(1)), Int(number(2)))
    cycles = (0..<count).map {
      Cycle(
        frame: Int(number(3 + 3 * $0)), counter: UInt32(truncatingIfNeeded: number(4 + 3 * $0)),
        next: number(5 + 3 * $0))
    }
    let start = 24 * (count + 1)
    samples = data.withUnsafeBytes { bytes in
      (0..<channels).map { channel in
        [Float](unsafeUninitializedCapacity: frames) { memory, initialized in
          let offset = start + 4 * frames * channel
          UnsafeMutableRawBufferPointer(memory).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 4 * frames]))
          initialized = frames
        }
      }
    }
  }

  /// Returns the index of the sample at a JACK frame time, or nil if not exactly one cycle contains it.
  package func index(ofCounter counter: UInt32) -> Int? {
    let ends = cycles.dropFirst().map(\.frame) + [samples.first?.count ?? 0]
    let found = zip(cycles, ends).filter { Int(counter &- $0.counter) < $1 - $0.frame }
    guard found.count == 1 else { return nil }
    return found[0].0.frame + Int(counter &- found[0].0.counter)
  }

  /// Returns the index of the sample at a host time in nanoseconds, from the predicted times of the
  /// cycles.
  package func index(ofHostTime time: UInt64, rate: Double) -> Double? {
    let ends = cycles.dropFirst().map(\.frame) + [samples.first?.count ?? 0]
    for (cycle, end) in zip(cycles, ends) {
      let frames = Double(end - cycle.frame)
      let offset = (Double(time) / 1000 - Double(cycle.next)) * rate / 1e6 + frames
      if offset >= -0.5, offset < frames - 0.5 { return Double(cycle.frame) + offset }
    }
    return nil
  }
}
