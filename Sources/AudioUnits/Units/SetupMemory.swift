import CRealTime
import Codecs
import RealTime
import System

/// Memory of a `UnitSetup`, and of all that renders read and write through it.
@safe
final class SetupMemory: @unchecked Sendable {
  let setup: UnsafeMutablePointer<UnitSetup>
  private let buses: UnsafeMutablePointer<UnitBus>
  private let cache: UnsafeMutablePointer<RenderCache>
  private let changes: UnsafeMutablePointer<ScheduledChange>
  private let notifies: UnsafeMutablePointer<UnitNotify>
  private let parts: [BusMemory]
  private let owner: AnyObject?
  /// The units before this one stay as long as a render may ask them.
  private let sources: [Unit]
  private let taps: [OutputTap]
  /// The longest delay of the inputs' sample rate converters in seconds.
  let delaySeconds: Double

  /// - Parameters:
  ///   - rates: The rate of each bus's planes: of the inputs', then of the outputs'.
  ///   - keepsInput: Whether the input of a device is kept: see `InputRing`.
  ///   - old: The setup before: its buses' memory and converters are used again where nothing changes.
  init(
    _ state: borrowing Unit.State, _ kernel: Unit.Kernel, rates: [Double], keepsInput: Bool,
    reusing old: SetupMemory?,
    _ convert: (BusShape) throws(UnitError) -> (any BusConverter)?
  ) throws(UnitError) {
    let frames = state.maximumFrames
    let all = state.inputs + state.outputs
    var parts: [BusMemory] = []
    var sources: [Unit] = []
    for (i, bus) in all.enumerated() {
      let isInput = i < state.inputs.count
      let shape = BusShape(
        format: bus.format, frames: frames, rate: rates[i],
        isInput: isInput, index: isInput ? i : i - state.inputs.count, quality: state.quality,
        isKept: keepsInput && i == state.inputs.count + 1)
      if let same = old?.parts.first(where: { $0.shape == shape }) {
        parts.append(same)
      } else {
        parts.append(BusMemory(shape, try isInput || shape.isKept ? convert(shape) : nil))
      }
      if case .unit(let unit, _) = bus.source { sources.append(unit) }
    }
    self.parts = parts
    self.sources = sources
    taps = all.compactMap(\.tap)
    owner = kernel.owner
    delaySeconds = parts.map(\.delaySeconds).max() ?? 0
    unsafe buses = .allocate(capacity: max(1, all.count))
    for (i, bus) in all.enumerated() {
      unsafe (buses + i).initialize(to: parts[i].bus(bus.source, bus.tap))
    }
    unsafe notifies = .allocate(capacity: max(1, state.notifies.count))
    for (i, notify) in state.notifies.enumerated() {
      unsafe (notifies + i).initialize(to: notify)
    }
    unsafe cache = .allocate(capacity: 1)
    unsafe cache.initialize(to: RenderCache())
    unsafe changes = .allocate(capacity: ChangeQueue.capacity)
    unsafe setup = .allocate(capacity: 1)
    unsafe setup.initialize(
      to: UnitSetup(
        inputs: buses, inputCount: state.inputs.count, outputs: buses + state.inputs.count,
        outputCount: state.outputs.count, maximumFrames: frames, kernel: kernel.call, cache: cache,
        changes: changes, notifies: notifies, notifyCount: state.notifies.count,
        mixer: kernel.mixer, switched: kernel.switched))
  }

  deinit {
    unsafe setup.deallocate()
    unsafe changes.deallocate()
    unsafe cache.deallocate()
    unsafe notifies.deallocate()
    unsafe buses.deallocate()
  }
}

/// All that the memory of a bus depends on.
struct BusShape: Equatable {
  let format: BusFormat
  /// Frames of the longest render.
  let frames: Int
  /// Rate of the planes.
  let rate: Double
  let isInput: Bool
  let index: Int
  /// Quality of the converter: 0 to 127.
  let quality: UInt32
  /// Whether an `InputRing` keeps its samples.
  let isKept: Bool

  /// The rates, in Hz, from which and to which its converter converts.
  var rates: (from: Double, to: Double) {
    isInput ? (format.sampleRate, rate) : (rate, format.sampleRate)
  }
}

/// Memory of a bus.
@safe
private final class BusMemory: @unchecked Sendable {
  let shape: BusShape
  private let planes: Planes
  private let sourcePlanes: Planes?
  /// Of the planes. A render moves them while it converts, and may do so while the next setup is made.
  private let pointers: Planes.Pointers
  private let sourcePointers: Planes.Pointers
  private let converter: (any BusConverter)?
  private let memory: UnsafeMutableRawBufferPointer?
  private let list: UnsafeMutablePointer<cue_buffer_list>
  private let resampling: UnsafeMutablePointer<ResamplingState>
  private let ring: UnsafeMutablePointer<InputRing>?
  private let ringPlanes: Planes?

  var delaySeconds: Double { converter?.delaySeconds ?? 0 }

  init(_ shape: BusShape, _ converter: (any BusConverter)?) {
    self.shape = shape
    self.converter = converter
    let format = shape.format
    planes = Planes(channels: format.channels, capacity: shape.frames)
    sourcePlanes =
      converter == nil && !shape.isKept
      ? nil : Planes(channels: format.channels, capacity: shape.frames)
    unsafe pointers = planes.pointers()
    unsafe sourcePointers = sourcePlanes?.pointers() ?? pointers
    let bytes = shape.frames * format.bytesPerFrame * format.buffers
    if shape.isInput && format.isPlanes {
      unsafe memory = nil
    } else {
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes, alignment: 64)
      unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
      unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
      unsafe self.memory = unsafe memory
    }
    let listBytes =
      unsafe MemoryLayout<cue_buffer_list>.size
      + (format.buffers - 1) * MemoryLayout<cue_buffer>.stride
    unsafe list = UnsafeMutableRawPointer.allocate(byteCount: listBytes, alignment: 16)
      .bindMemory(to: cue_buffer_list.self, capacity: 1)
    unsafe list.initialize(to: cue_buffer_list())
    unsafe resampling = .allocate(capacity: 1)
    unsafe resampling.initialize(to: ResamplingState())
    let ratio = format.sampleRate / shape.rate
    ringPlanes =
      shape.isKept
      ? Planes(channels: format.channels, capacity: InputRing.capacity(ratio: ratio)) : nil
    unsafe ring = ringPlanes.map { planes in
      let ring = UnsafeMutablePointer<InputRing>.allocate(capacity: 1)
      unsafe ring.initialize(to: InputRing(planes.pointers(), ratio: ratio))
      return unsafe ring
    }
  }

  deinit {
    if let memory = unsafe memory {
      unsafe unlockFromMemory(UnsafeRawBufferPointer(memory))
      unsafe memory.deallocate()
    }
    unsafe list.deallocate()
    unsafe resampling.deallocate()
    unsafe ring?.deallocate()
  }

  /// The bus as renders see it.
  func bus(_ source: Unit.Source, _ tap: OutputTap?) -> UnitBus {
    var unitSource = UnitSource()
    switch source {
    case .none: break
    case .callback(let proc, let data):
      unsafe unitSource.proc = proc
      unsafe unitSource.data = data
    case .unit(let unit, let output):
      unsafe unitSource.unit = unit.render
      unitSource.output = output
    }
    return unsafe UnitBus(
      format: shape.format, planes: pointers, list: list,
      memory: memory?.baseAddress ?? UnsafeMutableRawPointer(pointers[0]),
      bufferBytes: shape.frames * shape.format.bytesPerFrame,
      source: unitSource,
      resampler: converter?.call ?? cue_resampler(), burstSeconds: converter?.burstSeconds ?? 0,
      delaySeconds: delaySeconds,
      keepsSpeed: converter?.keepsSpeed ?? true,
      sourcePlanes: sourcePointers, resampling: resampling,
      rate: shape.rate, ring: ring, tap: tap?.ring)
  }
}
