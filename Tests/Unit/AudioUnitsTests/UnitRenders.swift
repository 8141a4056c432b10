import CProbe
import CRealTime
import TestSupport
import Testing

@testable import AudioUnits
@testable import RealTime

/// Renders a unit in the format of its first output: planar floats.
final class Renderer {
  private let unit: AudioUnits.Unit
  private var time = cue_time_stamp()
  private let list: UnsafeMutablePointer<cue_buffer_list>
  private(set) var status: Int32 = 0

  init(_ unit: AudioUnits.Unit, from frame: Double = 0) {
    self.unit = unit
    time.flags = UInt32(cue_time_has_sample)
    time.sample_time = frame
    list = BufferMemory.allocateList(buffers: 64)
  }

  deinit { list.deallocate() }

  /// Renders the next frames of an output. Each channel is one array: a single NaN if the render fails.
  ///
  /// - Parameter function: The I/O function that renders; nil if an app does.
  func render(
    _ frames: Int, bus: Int = 0, isLast: Bool = true, function: UnsafePointer<IOSlot>? = nil
  ) throws -> [[Float]] {
    let channels = try unit.bus(.output, UInt32(bus)).format.channels
    list.pointee.count = UInt32(channels)
    let buffers = cue_rt_buffers(list)
    for channel in 0..<channels {
      buffers[channel] = cue_buffer(channels: 1, bytes: UInt32(4 * frames), data: nil)
    }
    var flags: UInt32 = 0
    status = unit.render.pointee.render(
      &flags, &time, bus: bus, frames: frames, list, function: function)
    if isLast { time.sample_time += Double(frames) }
    return (0..<channels).map { channel in
      guard status == 0, let data = buffers[channel].data else { return [.nan] }
      return Array(
        UnsafeBufferPointer(start: data.assumingMemoryBound(to: Float.self), count: frames))
    }
  }
}

/// A render callback that gives each channel its own constant: 1 for the first, 2 for the next.
let steps: cue_render_proc = { data, _, _, _, frames, list in
  let factor = data.map { Float(UInt(bitPattern: $0)) } ?? 1
  let buffers = cue_rt_buffers(list!)
  for channel in 0..<Int(list!.pointee.count) {
    let samples = buffers[channel].data!.assumingMemoryBound(to: Float.self)
    samples.update(repeating: factor * Float(channel + 1), count: Int(frames))
  }
  return 0
}

func planar(_ channels: Int, _ rate: Double = 48000) throws -> BusFormat {
  try require(BusFormat.planar(channels: channels, sampleRate: rate))
}

/// Makes a unit that needs no device.
func make(_ kind: UnitKind) throws -> AudioUnits.Unit {
  try kind.make { fatalError("\(kind) asks for a device") }
}

extension AudioUnits.Unit {
  func set(_ id: UInt32, _ value: Float, scope: UInt32 = 0, element: UInt32 = 0) -> Int32 {
    render.pointee.setParameter(id, scope: scope, element: element, to: value)
  }

  func value(_ id: UInt32, scope: UInt32 = 0, element: UInt32 = 0) -> Float? {
    var value: Float = 0
    let status = render.pointee.parameter(id, scope: scope, element: element, into: &value)
    return status == 0 ? value : nil
  }
}

/// Renders a unit 60 times, and returns how often it allocated, freed, locked, retained or released.
func countingCalls(_ unit: AudioUnits.Unit) throws -> Int {
  let channels = try unit.bus(.output, 0).format.channels
  let list = BufferMemory.allocateList(buffers: channels)
  defer { list.deallocate() }
  var time = cue_time_stamp()
  time.flags = UInt32(cue_time_has_sample)
  var failures: Int32 = 0
  cue_probe_enter()
  for i in 0..<60 {
    let frames = i % 3 == 0 ? 1024 : i % 3 == 1 ? 64 : 480
    list.pointee.count = UInt32(channels)
    let buffers = cue_rt_buffers(list)
    for channel in 0..<channels {
      buffers[channel] = cue_buffer(channels: 1, bytes: UInt32(4 * frames), data: nil)
    }
    var flags: UInt32 = 0
    failures |= unit.render.pointee.render(&flags, &time, bus: 0, frames: frames, list)
    time.sample_time += Double(frames)
  }
  let counts = cue_probe_leave()
  try require(failures == 0)
  return Int(
    counts.allocations + counts.frees + counts.locks + counts.retains + counts.releases)
}
