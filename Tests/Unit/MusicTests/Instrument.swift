import CRealTime
import Hardware
import Synchronization
import TestSupport

@testable import AudioUnits
@testable import Music
@testable import RealTime

/// What an instrument has heard: the frame since its first render, and the bytes of a channel message.
struct Heard: Equatable, CustomStringConvertible {
  let frame: Int
  let bytes: [UInt8]
  init(_ frame: Int, _ bytes: [UInt8]) {
    self.frame = frame
    self.bytes = bytes
  }
  var description: String { "\(frame): \(bytes)" }
}

/// An audio unit of the app that notes the frames of messages, and clicks at those of notes.
final class Instrument {
  /// In memory that cycles write without allocations.
  fileprivate struct Memory {
    var interface: cue_foreign_interface
    var rendered = 0
    /// Messages may come from several threads.
    let count: UnsafeMutablePointer<Atomic<Int>>
    var events: UnsafeMutablePointer<(frame: Int, status: UInt8, first: UInt8, second: UInt8)>
    var clicks: UnsafeMutablePointer<Float>
  }
  static let room = 1 << 18
  fileprivate let memory: UnsafeMutablePointer<Memory>
  let component: UnitComponent

  init(rate: Double = 48000) throws {
    memory = .allocate(capacity: 1)
    memory.initialize(
      to: Memory(
        interface: cue_foreign_interface(
          open: { _, _ in 0 }, close: { _ in 0 }, lookup: { lookUp($0) }, reserved: nil),
        count: .allocate(capacity: 1), events: .allocate(capacity: Self.room),
        clicks: .allocate(capacity: 1 << 16)))
    memory.pointee.count.initialize(to: Atomic(0))
    memory.pointee.clicks.initialize(repeating: 0, count: 1 << 16)
    let address = UInt(bitPattern: memory)
    let format = try require(BusFormat.planar(channels: 2, sampleRate: rate))
    component = ComponentList.shared.register(
      ForeignComponent(
        make: { _ in
          UnsafeMutableRawPointer(bitPattern: address)!.assumingMemoryBound(
            to: cue_foreign_interface.self)
        }, encode: { _ in [UInt8](repeating: 0, count: 40) }, decode: { _ in format }),
      ComponentDescription("aumu", "clck", "Test"), name: "Test: Click", version: 1)
  }

  deinit {
    memory.pointee.count.deallocate()
    memory.pointee.events.deallocate()
    memory.pointee.clicks.deallocate()
    memory.deallocate()
  }

  /// What was heard since the last call.
  func take() -> [Heard] {
    let count = memory.pointee.count.pointee.exchange(0, ordering: .acquiring)
    return (0..<min(count, Self.room)).map { i in
      let event = memory.pointee.events[i]
      return Heard(event.frame, [event.status, event.first, event.second])
    }
  }

  /// The messages that were heard, whether they are kept or not.
  var count: Int { memory.pointee.count.pointee.load(ordering: .acquiring) }
}

private func memory(_ self: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Instrument.Memory> {
  self.assumingMemoryBound(to: Instrument.Memory.self)
}

private let answer: @convention(c) (UnsafeMutableRawPointer) -> Int32 = { _ in 0 }

private let getProperty:
  @convention(c) (
    UnsafeMutableRawPointer, UInt32, UInt32, UInt32, UnsafeMutableRawPointer?,
    UnsafeMutablePointer<UInt32>
  ) -> Int32 = { _, id, _, _, value, bytes in
    if id != 8 && id != 11 { return -10879 }
    if let value {
      value.initializeMemory(as: UInt8.self, repeating: 0, count: Int(bytes.pointee))
      if id == 11 { value.storeBytes(of: 1, as: UInt32.self) }
    }
    return 0
  }

private let setProperty:
  @convention(c) (
    UnsafeMutableRawPointer, UInt32, UInt32, UInt32, UnsafeRawPointer?, UInt32
  ) -> Int32 = { _, _, _, _, _, _ in 0 }

private let hear:
  @convention(c) (UnsafeMutableRawPointer, UInt32, UInt32, UInt32, UInt32) -> Int32 = {
    this, status, first, second, offset in
    let memory = memory(this)
    let number = memory.pointee.count.pointee.add(1, ordering: .acquiringAndReleasing).oldValue
    if number < Instrument.room {
      memory.pointee.events[number] = (
        memory.pointee.rendered + Int(offset), UInt8(status), UInt8(first), UInt8(second)
      )
    }
    if status & 0xF0 == 0x90, offset < 1 << 16 { memory.pointee.clicks[Int(offset)] += 1 }
    return 0
  }

private let render:
  @convention(c) (
    UnsafeMutableRawPointer, UnsafeMutablePointer<UInt32>?, UnsafePointer<cue_time_stamp>, UInt32,
    UInt32, UnsafeMutablePointer<cue_buffer_list>
  ) -> Int32 = { this, _, _, _, frames, list in
    let memory = memory(this)
    let buffers = cue_rt_buffers(list)
    for channel in 0..<Int(list.pointee.count) {
      buffers[channel].data?.copyMemory(
        from: memory.pointee.clicks, byteCount: 4 * Int(frames))
    }
    for i in 0..<Int(frames) { memory.pointee.clicks[i] = 0 }
    memory.pointee.rendered += Int(frames)
    return 0
  }

/// Returns the function of a selector of the C API.
private func lookUp(_ selector: Int16) -> UnsafeMutableRawPointer? {
  switch selector {
  case 0x0001, 0x0002: unsafeBitCast(answer, to: UnsafeMutableRawPointer.self)
  case 0x0004: unsafeBitCast(getProperty, to: UnsafeMutableRawPointer.self)
  case 0x0005: unsafeBitCast(setProperty, to: UnsafeMutableRawPointer.self)
  case 0x000E: unsafeBitCast(render, to: UnsafeMutableRawPointer.self)
  case 0x0101: unsafeBitCast(hear, to: UnsafeMutableRawPointer.self)
  default: nil
  }
}

/// A graph of instruments and a generic output, which the test renders.
final class Stage: SequenceTarget, @unchecked Sendable {
  let instruments: [Instrument]
  private let graph: UnitGraph
  private var nodes: [Int32] = []
  private let list: UnsafeMutablePointer<cue_buffer_list>
  private var time = cue_time_stamp()
  private let root: UnsafeMutablePointer<RenderUnit>

  init(instruments count: Int = 1, rate: Double = 48000) throws {
    instruments = try (0..<count).map { _ in try Instrument(rate: rate) }
    graph = UnitGraph(
      making: { component throws(UnitError) in
        try component.make { preconditionFailure("no unit has a device") }
      }, disposing: { $0.dispose() })
    list = BufferMemory.allocateList(buffers: 2)
    let output = try graph.addNode(UnitKind.genericOutput.component)
    let mixer = try graph.addNode(UnitKind.multiChannelMixer.component)
    try graph.open()
    try graph.node(mixer).unit?.setBusCount(count, .input)
    for (bus, instrument) in instruments.enumerated() {
      let node = try graph.addNode(instrument.component)
      nodes.append(node)
      try graph.set(.node(node, output: 0), for: UnitGraph.Input(node: mixer, bus: UInt32(bus)))
    }
    try graph.set(.node(mixer, output: 0), for: UnitGraph.Input(node: output, bus: 0))
    let format = try require(BusFormat.planar(channels: 2, sampleRate: 48000))
    try graph.node(mixer).unit?.setFormat(format, .output, 0)
    try graph.node(output).unit?.setFormat(format, .input, 0)
    try graph.node(output).unit?.setFormat(format, .output, 0)
    try graph.initialize()
    time.flags = UInt32(cue_time_has_sample)
    root = try require(graph.outputUnit).render
  }

  deinit {
    graph.dispose()
    list.deallocate()
  }

  func prepare() throws(MusicError) {}
  func start() throws(MusicError) {}
  var device: HardwareDevice? { nil }
  var clock: AudioUnits.Unit? { graph.outputUnit }
  var instrument: AudioUnits.Unit? { unit(ofNode: nodes[0]) }
  func unit(ofNode node: Int32) -> AudioUnits.Unit? { try? graph.node(node).unit }
  func node(_ index: Int) -> Int32 { nodes[index] }

  /// Renders the next frames of the output.
  func render(_ frames: Int) -> Int32 {
    list.pointee.count = 2
    let buffers = cue_rt_buffers(list)
    for channel in 0..<2 {
      buffers[channel] = cue_buffer(channels: 1, bytes: UInt32(4 * frames), data: nil)
    }
    var flags: UInt32 = 0
    let status = root.pointee.render(&flags, &time, bus: 0, frames: frames, list)
    time.sample_time += Double(frames)
    return status
  }

  /// Renders frames in parts of random lengths, or of one length.
  func render(_ frames: Int, part: Int?) throws {
    var left = frames
    while left > 0 {
      let count = min(left, part ?? Int.random(in: 1...1024))
      try require(render(count) == 0)
      left -= count
    }
  }
}
