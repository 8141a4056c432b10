package import CRealTime

/// The supplier of an input bus: a render callback or another unit.
@safe
package struct UnitSource: BitwiseCopyable {
  package var proc: cue_render_proc?
  package var data: UnsafeMutableRawPointer?
  package var unit: UnsafeMutablePointer<RenderUnit>?
  /// The output of `unit`.
  package var output = 0

  package init() {
    unsafe proc = nil
    unsafe data = nil
    unsafe unit = nil
  }

  var isNone: Bool { @_noLocks get { unsafe proc == nil && unit == nil } }
}

/// The source's frames that a bus's resampler has not taken yet.
package struct ResamplingState: BitwiseCopyable {
  /// Frames that the source has given, and those that were made of them.
  var position = 0.0
  var made = 0.0
  /// The first frame in the source's planes that was not taken, and their number.
  var first = 0
  var count = 0
  package init() {}
}

/// A bus of a unit that is initialised, in memory that the unit's owner has.
@safe
package struct UnitBus: BitwiseCopyable {
  /// Format of the samples that the bus exchanges.
  let format: BusFormat
  /// The unit's own samples: a plane for each channel, at the unit's rate.
  package let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  package let channels: Int
  /// Buffers of the format with memory of the bus, and the bytes of each. An input of planes needs none.
  let list: UnsafeMutablePointer<cue_buffer_list>
  let memory: UnsafeMutableRawPointer
  let bufferBytes: Int
  package var source: UnitSource
  let resampler: cue_resampler
  /// How much sound the resampler collects before it gives it, in seconds.
  let burstSeconds: Double
  /// Delay of the resampler's output in seconds.
  let delaySeconds: Double
  /// True if a second of the source is a second of `planes`: nothing changes its speed.
  let keepsSpeed: Bool
  /// Planes at the rate from which the resampler converts; those of the bus if there is none.
  let sourcePlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let resampling: UnsafeMutablePointer<ResamplingState>
  /// The rate of `planes` in Hz.
  let rate: Double
  /// For the input of a device: see `InputRing`. Nil if it needs none.
  let ring: UnsafeMutablePointer<InputRing>?
  /// Hears what an output gives; nil for none.
  let tap: UnsafeMutablePointer<TapRing>?

  package init(
    format: BusFormat, planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    list: UnsafeMutablePointer<cue_buffer_list>, memory: UnsafeMutableRawPointer, bufferBytes: Int,
    source: UnitSource, resampler: cue_resampler,
    burstSeconds: Double, delaySeconds: Double, keepsSpeed: Bool,
    sourcePlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    resampling: UnsafeMutablePointer<ResamplingState>, rate: Double,
    ring: UnsafeMutablePointer<InputRing>?, tap: UnsafeMutablePointer<TapRing>?
  ) {
    self.format = format
    unsafe self.planes = planes
    channels = format.channels
    unsafe self.list = list
    unsafe self.memory = memory
    self.bufferBytes = bufferBytes
    self.source = source
    unsafe self.resampler = unsafe resampler
    self.burstSeconds = burstSeconds
    self.delaySeconds = delaySeconds
    self.keepsSpeed = keepsSpeed
    unsafe self.sourcePlanes = sourcePlanes
    unsafe self.resampling = resampling
    self.rate = rate
    unsafe self.ring = ring
    unsafe self.tap = tap
  }

  /// Points the list's buffers at planes, if that is what the format has, or else at the memory of the bus.
  @inline(__always)
  @_noLocks func resetList(
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, frames: Int
  ) {
    let buffers = unsafe cue_rt_buffers(list)
    if format.isPlanes {
      unsafe list.pointee.count = UInt32(truncatingIfNeeded: channels)
      for i in 0..<channels {
        unsafe buffers[i] = cue_buffer(
          channels: 1, bytes: UInt32(truncatingIfNeeded: 4 &* frames), data: planes[i])
      }
      return
    }
    unsafe list.pointee.count = UInt32(format.buffers)
    for i in 0..<format.buffers {
      unsafe buffers[i].channels = UInt32(format.isInterleaved ? channels : 1)
      unsafe buffers[i].bytes = UInt32(frames &* format.bytesPerFrame)
      unsafe buffers[i].data = memory + i &* bufferBytes
    }
  }

  /// Gives the buffers of a list that have none memory of the bus. Fails if others are too small.
  @inline(__always)
  @_noLocks func lend(frames: Int, _ list: UnsafeMutablePointer<cue_buffer_list>) -> Int32 {
    guard unsafe Int(list.pointee.count) >= format.buffers else { return RenderError.badArgument }
    let bytes = UInt32(truncatingIfNeeded: frames &* format.bytesPerFrame)
    let buffers = unsafe cue_rt_buffers(list)
    for i in 0..<format.buffers {
      if unsafe buffers[i].data == nil {
        unsafe buffers[i].channels = UInt32(format.isInterleaved ? channels : 1)
        unsafe buffers[i].data = memory + i &* bufferBytes
      } else if unsafe buffers[i].bytes < bytes {
        return RenderError.badArgument
      }
      unsafe buffers[i].bytes = bytes
    }
    return 0
  }

  // These two functions take a pointer to the bus. With a bus as `self`, the compiler copies its format to the stack in
  // each render.

  /// Reads frames of a list into planes, unless its source has written into them.
  @inline(__always)
  @_noLocks static func read(
    _ bus: UnsafeMutablePointer<UnitBus>, _ list: UnsafeMutablePointer<cue_buffer_list>,
    frames: Int, to planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  ) {
    let channels = unsafe bus.pointee.channels
    var isRead = unsafe bus.pointee.format.isPlanes && Int(list.pointee.count) >= channels
    let given = unsafe cue_rt_buffers(list)
    var i = 0
    while isRead && i < channels {
      isRead =
        unsafe given[i].data == UnsafeMutableRawPointer(planes[i])
        && Int(given[i].bytes) >= 4 &* frames
      i &+= 1
    }
    if !isRead { unsafe convert(bus, list, frames: frames, to: planes) }
  }

  @inline(never)
  @_noLocks private static func convert(
    _ bus: UnsafeMutablePointer<UnitBus>, _ list: UnsafeMutablePointer<cue_buffer_list>,
    frames: Int, to planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  ) {
    unsafe bus.pointee.format.read(list, frames: frames, to: planes)
  }

  /// Writes frames of the bus's planes to a list whose buffers have the memory for them.
  @inline(__always)
  @_noLocks static func write(
    _ bus: UnsafeMutablePointer<UnitBus>, frames: Int,
    to list: UnsafeMutablePointer<cue_buffer_list>
  ) {
    if unsafe !bus.pointee.format.isPlanes {
      return unsafe convert(bus, frames: frames, to: list)
    }
    let given = unsafe cue_rt_buffers(list)
    let bytes = 4 &* frames
    for i in unsafe 0..<bus.pointee.channels {
      guard let data = unsafe given[i].data else { continue }
      let plane = unsafe UnsafeMutableRawPointer(bus.pointee.planes[i])
      if unsafe data != plane { unsafe data.copyMemory(from: plane, byteCount: bytes) }
      unsafe given[i].bytes = UInt32(truncatingIfNeeded: bytes)
    }
  }

  @inline(never)
  @_noLocks private static func convert(
    _ bus: UnsafeMutablePointer<UnitBus>, frames: Int,
    to list: UnsafeMutablePointer<cue_buffer_list>
  ) {
    unsafe bus.pointee.format.write(bus.pointee.planes, frames: frames, to: list)
  }

  @_noLocks package func silence(frames: Int) {
    for channel in 0..<channels {
      unsafe planes[channel].initialize(repeating: 0, count: frames)
    }
  }
}
