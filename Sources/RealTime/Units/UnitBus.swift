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
  @_noLocks func resetList(
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, frames: Int
  ) {
    let buffers = unsafe cue_rt_buffers(list)
    unsafe list.pointee.count = UInt32(format.buffers)
    for i in 0..<format.buffers {
      unsafe buffers[i].channels = UInt32(format.isInterleaved ? channels : 1)
      unsafe buffers[i].bytes = UInt32(frames &* format.bytesPerFrame)
      unsafe buffers[i].data =
        format.isPlanes ? UnsafeMutableRawPointer(planes[i]) : memory + i &* bufferBytes
    }
  }

  @_noLocks package func silence(frames: Int) {
    for channel in 0..<channels {
      unsafe planes[channel].initialize(repeating: 0, count: frames)
    }
  }
}
