import CRealTime
import Glibc
import RealTime
import Server
import Synchronization
import Timeline

/// A client of a render server. Each port is a plane of memory, which lives as long as the client. One
/// thread runs the cycles, and reads the ports between them.
@safe
final class RenderClient: ServerClient, @unchecked Sendable {
  let serverName: String
  let name: String
  let sampleRate: Double
  private let frames = Atomic<Int64>(0)

  private struct State {
    var planes: [String: UInt] = [:]
    var allPlanes: [UInt] = []
    var engine: UInt = 0
  }
  private let state = Mutex(State())
  private let tempo: cue_tempo?
  /// Transport state of the next cycle, which the engine reads.
  private let transport: UnsafeMutablePointer<cue_transport>
  /// The first frame of the cycle with which the transport rolls.
  private let rollsAt = Atomic<Int64>(.max)

  init(server: String, name: String, sampleRate: Double, tempo: TransportTempo?) {
    serverName = server
    self.name = name
    self.sampleRate = sampleRate
    self.tempo = tempo.map {
      cue_tempo(
        beats_per_minute: $0.bpm, beats_per_bar: $0.beatsPerBar, beat_unit: Double($0.beatUnit))
    }
    unsafe transport = .allocate(capacity: 1)
    unsafe transport.initialize(to: cue_transport())
  }

  /// Lets the transport roll from a frame on, with which a cycle begins.
  func rollTransport(at frame: Int64) { rollsAt.store(frame, ordering: .releasing) }

  /// Sets the transport's state for the cycle that begins at `frame`, as JACK has it on a server that the
  /// session leads.
  private func moveTransport(to frame: Int64) {
    guard var tempo else { return }
    let passed = frame - min(frame, rollsAt.load(ordering: .acquiring))
    let isRolling = frame >= rollsAt.load(ordering: .acquiring)
    var position = jack_position_t()
    position.frame = jack_nframes_t(clamping: passed)
    position.frame_rate = jack_nframes_t(sampleRate.rounded())
    unsafe cue_rt_set_beats(&tempo, &position)
    unsafe transport.pointee = cue_rt_read_transport(
      isRolling ? JackTransportRolling : JackTransportStopped, &position)
  }

  deinit {
    unsafe transport.deallocate()
    for plane in state.withLock({ $0.allPlanes }) {
      unsafe UnsafeMutablePointer<Float>(bitPattern: plane)?.deallocate()
    }
  }

  var anchor: TimeAnchor { TimeAnchor(frame: 0, microseconds: 0) }
  var handle: OpaquePointer? { nil }
  var physicalOutputs: [String] { [] }
  var physicalInputs: [String] { [] }
  var periodFrames: Int { RenderServer.cycleFrames }
  /// The host time of the next cycle.
  var hostTime: UInt64 { microseconds(frames.load(ordering: .acquiring)) * 1000 }

  private func microseconds(_ frame: Int64) -> UInt64 {
    UInt64(held: Double(frame) / sampleRate * 1e6)
  }

  func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices) {
    state.withLock { $0.engine = UInt(bitPattern: engine) }
    if tempo != nil { unsafe engine.pointee.setTransport(transport) }
    notices.freewheels(true)
  }

  func addPort(named name: String, _ direction: PortDirection) -> ClientPort {
    let plane = UnsafeMutablePointer<Float>.allocate(capacity: RenderServer.cycleFrames)
    unsafe plane.initialize(repeating: 0, count: RenderServer.cycleFrames)
    let address = UInt(bitPattern: plane)
    state.withLock { state in
      state.planes[name] = address
      state.allPlanes.append(address)
    }
    return unsafe ClientPort(cue_port(port: nil, memory: plane, connections: nil))
  }

  func removePort(_ port: ClientPort) {
    let address = unsafe UInt(bitPattern: port.handle.memory)
    state.withLock { state in state.planes = state.planes.filter { $0.value != address } }
  }

  /// Do nothing: there are no other ports.
  func isolate(_ port: ClientPort) {}
  func connect(_ name: String, to destination: String) {}
  func connect(_ source: String, toOurs name: String) {}
  func disconnect(_ name: String, from destination: String) {}
  func connections(of name: String) -> [String] { [] }

  func close() -> Bool {
    state.withLock { $0.engine = 0 }
    return true
  }

  /// The first frame of the next cycle.
  var nextFrame: Int64 { frames.load(ordering: .acquiring) }

  /// Seconds that a cycle waits for a queue to be refilled.
  private static let patience = 10.0

  /// Runs one cycle of `count` frames, once the queues are refilled for it.
  ///
  /// - Returns: `false` if the client is closed.
  func cycle(frames count: Int) -> Bool {
    let address = state.withLock { $0.engine }
    guard let engine = unsafe UnsafeMutablePointer<Engine>(bitPattern: address) else {
      return false
    }
    var naps = 0
    let most = Int(Self.patience * 10_000)
    while unsafe engine.pointee.lacksBuffers(for: UInt32(count), givingUp: naps == most) {
      usleep(100)
      naps += 1
    }
    let frame = frames.load(ordering: .relaxed)
    moveTransport(to: frame)
    unsafe engine.pointee.cycle(
      UInt32(count),
      cue_cycle_time(
        counter: UInt32(truncatingIfNeeded: frame), microseconds: microseconds(frame),
        next_microseconds: microseconds(frame + Int64(count))))
    frames.store(frame + Int64(count), ordering: .releasing)
    return true
  }

  /// Calls `body` with the samples that the last cycle wrote to a port; nil if there is no such port.
  func withSamples<Result>(
    of port: String, _ body: (UnsafeBufferPointer<Float>) -> Result
  ) -> Result? {
    let address = state.withLock { $0.planes[port] ?? 0 }
    guard let plane = unsafe UnsafePointer<Float>(bitPattern: address) else { return nil }
    return unsafe body(UnsafeBufferPointer(start: plane, count: RenderServer.cycleFrames))
  }
}
