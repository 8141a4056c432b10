import CRealTime
import RealTime
import Server
import Synchronization
import Timeline

/// The only client of an offline server. Each port is a plane of memory.
///
/// One thread at a time runs the cycles. The memory lives as long as the client, so that the
/// rendering thread can read its output whatever other threads do to the queue.
@safe
final class OfflineClient: ServerClient, @unchecked Sendable {
  /// The maximum number of frames in a cycle.
  static var maximumFrames: Int { 4096 }

  let serverName = "offline"
  let name: String
  let server: OfflineServer
  private let engine = Mutex<UInt>(0)
  private let frames = Atomic<Int64>(0)
  /// The planes of the open ports, in order.
  private let ports = Mutex<[Plane]>([])
  /// All planes ever allocated, including those of closed ports.
  private let planes = Mutex<[Plane]>([])
  /// One plane pointer per channel of the render format, as `store` takes them.
  private let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let silence: Plane
  /// Mix buffers: one, or one per channel of the format if there is a mix.
  private let mixes: [Plane]

  @safe private struct Plane: @unchecked Sendable {
    let memory: UnsafeMutablePointer<Float>
    init() {
      unsafe memory = .allocate(capacity: maximumFrames)
      unsafe memory.initialize(repeating: 0, count: maximumFrames)
    }
  }

  init(_ server: OfflineServer, name: String) {
    self.server = server
    self.name = name
    silence = Plane()
    mixes = (0..<(server.sources == nil ? 1 : server.format.channels)).map { _ in Plane() }
    unsafe outputs = .allocate(capacity: server.format.channels)
    unsafe outputs.initialize(repeating: silence.memory, count: server.format.channels)
  }

  deinit {
    unsafe outputs.deallocate()
    for plane in planes.withLock({ $0 }) + [silence] + mixes { unsafe plane.memory.deallocate() }
  }

  // MARK: Server client

  var sampleRate: Double { server.format.sampleRate }
  private var counter: UInt32 { UInt32(truncatingIfNeeded: frames.load(ordering: .acquiring)) }
  var anchor: TimeAnchor { TimeAnchor(frame: 0, microseconds: 0) }
  var handle: OpaquePointer? { nil }
  var deliversEventsItself: Bool { true }
  var physicalOutputs: [String] { [] }
  var physicalInputs: [String] { [] }

  func activate(_ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices) {
    self.engine.withLock { $0 = UInt(bitPattern: engine) }
  }

  func addPort(named name: String, _ direction: PortDirection) -> ClientPort {
    let plane = Plane()
    planes.withLock { $0.append(plane) }
    ports.withLock { $0.append(plane) }
    return unsafe ClientPort(cue_port(port: nil, memory: plane.memory, connections: nil))
  }

  func isolate(_ port: ClientPort) {}

  func removePort(_ port: ClientPort) {
    ports.withLock { $0.removeAll { unsafe $0.memory == port.handle.memory } }
  }

  /// Does nothing: the ports' content is rendered and not connected.
  func connect(_ name: String, to destination: String) {}
  func connect(_ source: String, toOurs name: String) {}
  func disconnect(_ name: String, from destination: String) {}
  func connections(of name: String) -> [String] { [] }

  func close() -> Bool {
    engine.withLock { $0 = 0 }
    return true
  }

  // MARK: Cycles

  /// Runs one cycle of at most `frames` frames and writes its output to `memory` in the render
  /// format. The caller must keep the device alive.
  ///
  /// - Parameter taken: Returns the number of frames that the voice has rendered.
  /// - Returns: The number of frames written.
  @discardableResult
  func turn(frames count: Int, into memory: UnsafeMutableRawPointer, _ taken: () -> Int) -> Int {
    guard
      let engine = unsafe UnsafeMutablePointer<Engine>(bitPattern: engine.withLock { $0 })
    else { return 0 }
    unsafe engine.pointee.cycle(
      UInt32(min(count, Self.maximumFrames)),
      cue_cycle_time(counter: counter, microseconds: 0, next_microseconds: 0))
    let rendered = taken()
    frames.add(Int64(rendered), ordering: .releasing)
    if rendered > 0 { unsafe store(rendered, into: memory) }
    return rendered
  }

  /// Mixes and stores the ports' planes as `sources` defines. Without sources channels map one to
  /// one. A single queue channel goes to the first two, and a single output channel receives the
  /// mean of all ports.
  private func store(_ count: Int, into memory: UnsafeMutableRawPointer) {
    let channels = server.format.channels
    ports.withLock { ports in
      if let sources = server.sources, sources.count == ports.count {
        for channel in 0..<channels {
          let sources = sources.channels[channel]
          if sources.isEmpty {
            unsafe outputs[channel] = silence.memory
          } else if sources.count == 1, sources[0].factor == 1 {
            unsafe outputs[channel] = ports[sources[0].port].memory
          } else {
            let mix = unsafe mixes[channel].memory
            for i in 0..<count {
              var sum: Float = 0
              for source in sources { sum += unsafe ports[source.port].memory[i] * source.factor }
              unsafe mix[i] = sum
            }
            unsafe outputs[channel] = mix
          }
        }
      } else if channels == 1, ports.count > 1 {
        let mix = unsafe mixes[0].memory
        let share = 1 / Double(ports.count)
        for i in 0..<count {
          var sum = 0.0
          for port in ports { sum += unsafe Double(port.memory[i]) }
          unsafe mix[i] = Float(sum * share)
        }
        unsafe outputs[0] = mix
      } else {
        for channel in 0..<channels {
          unsafe outputs[channel] = channel < ports.count ? ports[channel].memory : silence.memory
        }
      }
    }
    unsafe server.layout.store(
      from: outputs, at: 0, frames: count, to: memory, planeFrames: 0)
  }
}
