import CJack
import CTestSupport
import Foundation

/// A JACK client that records what reaches its inputs `in_1`, `in_2` …, with the frame times at which
/// it did. One thread at a time.
package final class CaptureClient: @unchecked Sendable {
  /// A place where JACK's frame time did not go on by one cycle.
  package struct Gap: Equatable, Sendable {
    /// Captured frame before which it lies.
    package var frame: Int
    /// JACK frame times.
    package var expected: UInt32, found: UInt32
  }

  package let name: String
  package let channels: Int
  /// Frames that there is memory for.
  package let capacity: Int
  private let capture: OpaquePointer
  private var client: OpaquePointer { cue_capture_client(capture) }
  private var freewheels = false

  /// Opens and activates the client. It does not record before it is armed.
  ///
  /// As a sound card, on a server that has no playback ports, it hears every program from its first
  /// frame on: programs connect to it before they start.
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

  /// Forgets what was recorded, and records from the next cycle on.
  package func arm() { cue_capture_arm(capture) }
  /// Stops recording. What was recorded stays.
  package func disarm() { cue_capture_disarm(capture) }

  /// Frames recorded so far.
  package var capturedFrames: Int { cue_capture_frames(capture) }
  package var isFull: Bool { capturedFrames == capacity }
  /// JACK frame time of the first recorded frame. There must be one.
  package var firstFrame: UInt32 {
    precondition(capturedFrames > 0, "nothing has been recorded")
    return cue_capture_first_frame(capture)
  }
  /// Number of gaps since it was armed.
  package var discontinuities: Int { Int(cue_capture_gap_count(capture)) }
  /// The first 64 of them.
  package var gaps: [Gap] {
    (0..<UInt32(min(discontinuities, 64))).map {
      let gap = cue_capture_gap(capture, $0)
      return Gap(frame: Int(gap.frame), expected: gap.expected, found: gap.found)
    }
  }
  /// Xruns that JACK told of since the client was opened.
  package var xruns: Int { Int(cue_capture_xruns(capture)) }
  /// True once the server has gone.
  package var wasShutDown: Bool { cue_capture_was_shut_down(capture) }

  /// The recorded samples of a channel, from 0. It must not be recording, unless it is full.
  package func samples(channel: Int) -> [Float] {
    precondition(channel >= 0 && channel < channels, "there is no channel \(channel)")
    return Array(
      UnsafeBufferPointer(
        start: cue_capture_samples(capture, UInt32(channel)), count: capturedFrames))
  }

  /// Waits until that many frames are recorded; false if they are not after `deadline` seconds.
  package func wait(untilFrames frames: Int, deadline: Double = 30) -> Bool {
    wait(deadline: deadline) { capturedFrames >= frames }
  }

  // MARK: The graph

  /// Connects an output port, by its full name, to input 1, 2 …
  package func connect(_ source: String, toInput input: Int) throws {
    try connect(source, to: "\(name):in_\(input)")
  }

  /// Connects two ports, by their full names. Connected ones stay so.
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

  /// Full names of the ports that match the regular expression (empty: all), in JACK's order. What JACK
  /// calls an output, a port that gives sound to others, is one here.
  package func ports(matching pattern: String = "", _ direction: Direction? = nil) -> [String] {
    let flags: UInt32 =
      switch direction {
      case nil: 0
      case .inputs: JackPortIsInput.rawValue
      case .outputs: JackPortIsOutput.rawValue
      }
    return strings(jack_get_ports(client, pattern, nil, UInt(flags)))
  }

  /// Full names of the ports that a port is connected to; empty if there is no such port.
  package func connections(of port: String) -> [String] {
    guard let port = jack_port_by_name(client, port) else { return [] }
    return strings(jack_port_get_all_connections(client, port))
  }

  /// Waits until a port of that full name is there; false if it is not after `deadline` seconds.
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

  /// Has the server run cycles of `frames` frames.
  package func setPeriod(_ frames: Int) throws {
    let error = jack_set_buffer_size(client, UInt32(frames))
    guard error == 0 else { throw SupportError("the server keeps its period: \(error)") }
  }

  /// Runs the cycles one after another as fast as they go, or by the clock again. Open and activate every
  /// client first: jackd cannot activate one while it freewheels, and takes twenty seconds to say so.
  package func setFreewheel(_ on: Bool) throws {
    let error = jack_set_freewheel(client, on ? 1 : 0)
    guard error == 0 else { throw SupportError("freewheel does not change: \(error)") }
    freewheels = on
  }

  /// JACK's frame time now, an estimate.
  package var frameTime: UInt32 { jack_frame_time(client) }

  /// Waits until `condition` holds; false if it does not after `deadline` seconds.
  private func wait(deadline: Double, until condition: () -> Bool) -> Bool {
    let end = Date(timeIntervalSinceNow: deadline)
    while !condition() {
      if Date() >= end { return condition() }
      usleep(1000)
    }
    return true
  }
}

/// A JACK client whose outputs `out_1` … carry the number of each frame, exactly.
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

  /// What it plays at a JACK frame time, on a channel from 0.
  package static func sample(at frame: UInt32, channel: Int) -> Float {
    cue_emitter_sample(frame, UInt32(channel))
  }
}
