import CRealTime
import RealTime
import Server
import Synchronization
import Timeline

/// A server without sound cards or a clock: whoever renders offline runs its cycles.
final class OfflineServer: Server {
  /// What the frames are rendered to.
  let format: PCMFormat
  let layout: SampleLayout
  /// What goes into each channel of the format; nil if that follows from the number of channels.
  let sources: Sources?

  /// The ports that go into each channel of a format, and how much of each.
  struct Sources {
    /// How many ports there are.
    let count: Int
    let channels: [[(port: Int, factor: Float)]]
  }

  /// Nil if the format is not one that queues know.
  ///
  /// - Parameter mix: For each port how much of it each channel of the format takes.
  init?(_ format: PCMFormat, mix: [[Float]]? = nil) {
    guard let layout = format.layout else { return nil }
    self.format = format
    self.layout = layout
    sources = mix.map { mix in
      Sources(
        count: mix.count,
        channels: (0..<format.channels).map { channel in
          mix.indices.filter { mix[$0][channel] != 0 }.map { (port: $0, factor: mix[$0][channel]) }
        })
    }
  }

  func openClient(named name: String) -> any ServerClient { OfflineClient(self, name: name) }
  func reopenClient(named name: String) -> (any ServerClient)? { nil }
}

/// The one client of an offline server: a plane of memory for each port.
///
/// One thread at a time runs the cycles; the memory stays as long as the client, so that it can read
/// what it rendered whatever other threads do to the queue.
@safe
final class OfflineClient: ServerClient, @unchecked Sendable {
  /// The most frames in a cycle.
  static var maximumFrames: Int { 4096 }

  let serverName = "offline"
  let name: String
  let server: OfflineServer
  private let engine = Mutex<UInt>(0)
  private let frames = Atomic<Int64>(0)
  /// The ports' planes, in order, as long as the ports are there.
  private let ports = Mutex<[Plane]>([])
  /// Every plane that there ever was.
  private let planes = Mutex<[Plane]>([])
  /// A plane for each channel of the render format, as `store` takes them.
  private let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let silence: Plane
  /// Where channels are mixed: one, or as many as the format has.
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

  // MARK: A client

  var sampleRate: Double { server.format.sampleRate }
  private var counter: UInt32 { UInt32(truncatingIfNeeded: frames.load(ordering: .acquiring)) }
  var anchor: TimeAnchor { TimeAnchor(frame: 0, microseconds: 0) }
  var handle: OpaquePointer? { nil }
  var relaysItself: Bool { true }
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
    ports.withLock { $0.removeAll { unsafe $0.memory == port.place.memory } }
  }

  /// Nothing is connected: what the ports carry is rendered.
  func connect(_ name: String, to destination: String) {}
  func connect(_ source: String, toOurs name: String) {}
  func disconnect(_ name: String, from destination: String) {}
  func connections(of name: String) -> [String] { [] }

  func close() -> Bool {
    engine.withLock { $0 = 0 }
    return true
  }

  // MARK: Cycles

  /// Runs one cycle of at most `frames` frames, and writes what it rendered to `memory` in the render
  /// format. Needs the device alive.
  ///
  /// - Parameter taken: Tells how many frames the voice has rendered.
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

  /// As the sources say; else channel by channel: one channel goes to the first two, and into one goes the
  /// mean of all.
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
