import Foundation

/// A server of a test's own that child processes use.
package protocol PeerServer: AnyObject {
  /// What the environment of a program has to have for the program to use it.
  var environment: [String: String] { get }
  /// The inputs that sound is played to, by their full names.
  var inputs: [String] { get }
  /// What the server has printed.
  var log: String { get }
  /// Ends it as a crash would.
  func kill()
  /// Starts it again, at another rate and with cycles of another length if they are given.
  func start(rate: Int?, period: Int?) throws
}

extension JackDaemon: PeerServer {
  package var environment: [String: String] {
    ["JACK_DEFAULT_SERVER": name, "JACK_NO_START_SERVER": "1"]
  }
  package var inputs: [String] { ["system:playback_1", "system:playback_2"] }
}

/// A `jack-peer`: a JACK client in a process of its own, on a test's server. Any thread.
package final class JackPeer: @unchecked Sendable {
  private let child: Child
  private let output: URL
  private let recording: URL?

  private init(
    _ arguments: [String], on server: any PeerServer, recording: URL? = nil,
    isPassive: Bool = false
  ) throws {
    output = Self.newFile("output")
    self.recording = recording
    var environment = ProcessInfo.processInfo.environment.merging(server.environment) { $1 }
    if isPassive { environment["PIPEWIRE_LINK_PASSIVE"] = "true" }
    child = try Child(
      builtProduct(named: "jack-peer").path, arguments, environment: environment, output: output)
    let end = Date(timeIntervalSinceNow: 30)
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

  /// Keeps the sink busy: plays silence to it.
  package static func silence(on server: any PeerServer) throws -> JackPeer {
    try JackPeer(["silence"] + server.inputs, on: server)
  }

  /// Plays what an `Emitter` does, from its outputs `emitter:out_1` …, to `ports`.
  package static func numbers(
    channels: Int = 2, to ports: [String] = [], on server: any PeerServer
  ) throws -> JackPeer {
    try JackPeer(["numbers", "\(channels)"] + ports, on: server)
  }

  /// Records `ports`, or what the sink hears, to its inputs `capture:in_1` …, without waking an idle sink.
  package static func capture(
    _ ports: [String] = PipeWireDaemon.monitors, seconds: Double = 60, on server: any PeerServer
  ) throws -> JackPeer {
    let file = newFile("capture")
    return try JackPeer(
      ["capture", file.path, "\(ports.count)", "\(seconds)"] + ports, on: server, recording: file,
      isPassive: true)
  }

  /// Ends a capture and returns what it recorded.
  package func end() throws -> PeerRecording {
    child.end()
    guard let recording, child.wait(seconds: 0) == 0 else {
      throw SupportError("jack-peer failed: \(text(of: output))")
    }
    defer { try? FileManager.default.removeItem(at: recording) }
    return try PeerRecording(Data(contentsOf: recording))
  }
}

/// What a `jack-peer` recorded.
package struct PeerRecording: Sendable {
  package struct Cycle: Sendable {
    /// Index of its first frame in `samples`.
    package let frame: Int
    /// JACK's frame time of that frame.
    package let counter: UInt32
    /// Predicted begin of the next cycle, in microseconds of the monotonic clock.
    package let next: UInt64
  }
  package let cycles: [Cycle]
  /// For each channel.
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
          let place = start + 4 * frames * channel
          UnsafeMutableRawBufferPointer(memory).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes[place..<place + 4 * frames]))
          initialized = frames
        }
      }
    }
  }

  /// Index of the sample at a JACK frame time; nil if no cycle had it, or more than one.
  package func index(ofCounter counter: UInt32) -> Int? {
    let ends = cycles.dropFirst().map(\.frame) + [samples.first?.count ?? 0]
    let found = zip(cycles, ends).filter { Int(counter &- $0.counter) < $1 - $0.frame }
    guard found.count == 1 else { return nil }
    return found[0].0.frame + Int(counter &- found[0].0.counter)
  }

  /// Index of the sample at a host time, in nanoseconds, as the cycles' predicted times tell it.
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
