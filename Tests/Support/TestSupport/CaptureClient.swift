import CJack
import CTestSupport
import Foundation

/// A JACK client that records its inputs `in_1`, `in_2` … with their frame times. One thread at a time.
package final class CaptureClient: @unchecked Sendable {
  /// A discontinuity in JACK's frame time between two cycles.
  package struct Gap: Equatable, Sendable {
    /// Index of the captured frame after the gap.
    package var frame: Int
    /// The expected and the actual JACK frame time.
    package var expected: UInt32, found: UInt32
  }

  package let name: String
  package let channels: Int
  /// Maximum number of frames.
  package let capacity: Int
  private let capture: OpaquePointer
  private var client: OpaquePointer { cue_capture_client(capture) }
  private var freewheels = false

  /// Opens and activates the client. It records only after `arm`.
  ///
  /// With `isSoundCard`, its inputs look like those of a sound card. Programs then connect to them
  /// before they start, on a server without playback ports, and are recorded from their first frame.
  package init(
    on server: JackDaemon, name: String = "capture", channels: Int = 2, capacity: Int,
    isSoundCard: Bool = false
  ) throws {
    self.name = name
    self.channels = channels
    self.capacity = capacity
    var status = JackStatus(rawValue: 0)
    guard
      let capture = cue_capture_open(
        server.name, name, UInt32(channels), capacity, isSoundCard, &status)
    else {
      throw SupportError(
        "the client \(name) cannot be opened: JACK status 0x"
          + String(status.rawValue, radix: 16) + "\n\(server.log)")
    }
    self.capture = capture
  }

  deinit {
    if freewheels { jack_set_freewheel(client, 0) }
    cue_capture_close(capture)
  }

  // MARK: Recording

  /// Clears the recording and records from the next cycle on.
  package func arm() { cue_capture_arm(capture) }
  /// Stops recording. The recording stays.
  package func disarm() { cue_capture_disarm(capture) }

  /// Frames recorded so far.
  package var capturedFrames: Int { cue_capture_frames(capture) }
  package var isFull: Bool { capturedFrames == capacity }
  /// JACK frame time of the first recorded frame. Precondition: there is one.
  package var firstFrame: UInt32 {
    precondition(capturedFrames > 0, "nothing has been recorded")
    return cue_capture_first_frame(capture)
  }
  /// Number of gaps since `arm`.
  package var discontinuities: Int { Int(cue_capture_gap_count(capture)) }
  /// The first 64 gaps.
  package var gaps: [Gap] {
    (0..<UInt32(min(discontinuities, 64))).map {
      let gap = cue_capture_gap(capture, $0)
      return Gap(frame: Int(gap.frame), expected: gap.expected, found: gap.found)
    }
  }
  /// Number of xruns that JACK reported since the client was opened.
  package var xruns: Int { Int(cue_capture_xruns(capture)) }
  /// Whether the server has shut down.
  package var wasShutDown: Bool { cue_capture_was_shut_down(capture) }

  /// Returns the recorded samples of a channel, counted from 0. Precondition: not recording, or full.
  package func samples(channel: Int) -> [Float] {
    precondition(channel >= 0 && channel < channels, "there is no channel \(channel)")
    return Array(
      UnsafeBufferPointer(
        start: cue_capture_samples(capture, UInt32(channel)), count: capturedFrames))
  }

  /// Waits until `frames` frames are recorded. Returns `false` after `deadline` seconds.
  package func wait(untilFrames frames: Int, deadline: Double = 30) -> Bool {
    wait(deadline: deadline) { capturedFrames >= frames }
  }

  // MARK: The graph

  /// Connects an output port, by its full name, to an input, counted from 1.
  package func connect(_ source: String, toInput input: Int) throws {
    try connect(source, to: "\(name):in_\(input)")
  }

  /// Connects two ports by their full names. It accepts an existing connection.
  package func connect(_ source: String, to destination: String) throws {
    let error = jack_connect(client, source, destination)
    guard error == 0 || error == EEXIST else {
      throw SupportError("\(source) does not connect to \(destination): \(error)")
    }
  }

  package func disconnect(_ source: String, fromInput input: Int) throws {
    try disconnect(source, from: "\(name):in_\(input)")
  }

  package func disconnect(_ source: String, from destination: String) throws {
    let error = jack_disconnect(client, source, destination)
    guard error == 0 else { throw SupportError("\(source) does not disconnect: \(error)") }
  }

  package enum Direction: Sendable { case inputs, outputs }

  /// Returns the full names of the ports that match a regular expression (empty for all), in JACK's
  /// order. `.output` is JACK's output, a port that sends samples to others.
  package func ports(matching pattern: String = "", _ direction: Direction? = nil) -> [String] {
    let flags: UInt32 =
      switch direction {
      case nil: 0
      case .inputs: JackPortIsInput.rawValue
      case .outputs: JackPortIsOutput.rawValue
      }
    return strings(jack_get_ports(client, pattern, nil, UInt(flags)))
  }

  /// Returns the full names of the ports connected to a port; empty if the port does not exist.
  package func connections(of port: String) -> [String] {
    guard let port = jack_port_by_name(client, port) else { return [] }
    return strings(jack_port_get_all_connections(client, port))
  }

  /// Waits until a port with this full name exists. Returns `false` after `deadline` seconds.
  package func waitForPort(named port: String, deadline: Double = 30) -> Bool {
    wait(deadline: deadline) { jack_port_by_name(client, port) != nil }
  }

  private func strings(_ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [String] {
    guard let list else { return [] }
    defer { jack_free(list) }
    var found: [String] = []
    while let string = list[found.count] { found.append(String(cString: string)) }
    return found
  }

  // MARK: The server

  /// Sets the period of the server.
  package func setPeriod(_ frames: Int) throws {
    let error = jack_set_buffer_size(client, UInt32(frames))
    guard error == 0 else { throw SupportError("the server keeps its period: \(error)") }
  }

  /// Turns freewheel mode on or off. Open and activate all clients first: jackd cannot activate a
  /// client in freewheel mode, and needs twenty seconds to refuse.
  package func setFreewheel(_ on: Bool) throws {
    let error = jack_set_freewheel(client, on ? 1 : 0)
    guard error == 0 else { throw SupportError("freewheel does not change: \(error)") }
    freewheels = on
  }

  /// JACK's frame time at the beginning of the latest cycle.
  ///
  /// Unlike JACK's estimate of the current frame time, it is as exact as captured frames. If cycles are
  /// late, the estimate may differ from them by half a second.
  package var cycleFrame: UInt32 { jack_last_frame_time(client) }

  /// Waits until `condition` holds. Returns `false` after `deadline` seconds.
  private func wait(deadline: Double, until condition: () -> Bool) -> Bool {
    let end = Date(timeIntervalSinceNow: deadline)
    while !condition() {
      if Date() >= end { return condition() }
      usleep(1000)
    }
    return true
  }
}

/// A JACK client whose outputs `out_1` … play the exact number of each frame.
package final class Emitter: @unchecked Sendable {
  private let emitter: OpaquePointer

  package init(on server: JackDaemon, name: String = "emitter", channels: Int = 2) throws {
    var status = JackStatus(rawValue: 0)
    guard let emitter = cue_emitter_open(server.name, name, UInt32(channels), &status) else {
      throw SupportError(
        "the client \(name) cannot be opened: JACK status 0x"
          + String(status.rawValue, radix: 16))
    }
    self.emitter = emitter
  }

  deinit { cue_emitter_close(emitter) }

  /// Returns the sample for a JACK frame time and a channel, counted from 0.
  package static func sample(at frame: UInt32, channel: Int) -> Float {
    cue_emitter_sample(frame, UInt32(channel))
  }
}
