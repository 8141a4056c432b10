import CRealTime

/// Input of a device in the channels and at the rate of the app's side, until the app's callbacks render
/// it. Process thread only.
///
/// A unit that converts does not call the app in step with its device: some of the device's calls bring
/// input and no callback, others one callback more. An input proc is told of all of it in calls of one length.
/// Other callbacks get it later, so that it never runs out: by what one call of each takes and brings, and by
/// what the sample rate converters of both sides collect before they give it.
@safe
package struct InputRing: BitwiseCopyable {
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let capacity: Int
  /// Frames of the app's side for one of the device's.
  let ratio: Double
  /// Frames that came in since the unit was started, and those of the latest call of the device.
  private(set) var written: Int64 = 0
  private var latest = 0
  /// The first frame that no input proc has been told of.
  var told: Int64 = 0
  /// The first frame that no other callback has rendered. Frames before 0 are silence.
  private var rendered: Int64 = 0
  private var isRendering = false
  /// The latest render of another callback: its sample time and its first frame.
  private var renderTime = Double.nan
  private var renderStart: Int64 = 0
  /// Frames that callbacks lacked, because converters between them and the device collect frames too.
  private var lacking: Int64 = 0

  /// The most frames of a render, for devices whose rate is that of the app's side divided by `ratio`.
  @_noLocks static func mostFrames(ratio: Double) -> Int {
    max(IOCycle.mostCallFrames, Int(Double(IOCycle.mostCallFrames) * ratio))
  }
  /// Frames of each of the planes for such devices.
  package static func capacity(ratio: Double) -> Int { 12 * mostFrames(ratio: ratio) }

  /// Creates a ring in memory that the caller owns: a plane of `capacity(ratio:)` frames for each channel.
  package init(_ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, ratio: Double) {
    unsafe self.planes = planes
    self.ratio = ratio
    capacity = Self.capacity(ratio: ratio)
  }

  /// Forgets all input.
  @_noLocks mutating func clear() {
    written = 0
    latest = 0
    told = 0
    isRendering = false
    renderTime = .nan
  }

  /// Appends frames.
  ///
  /// - Parameters:
  ///   - source: Planes at the device's rate, which `resampler` converts if there is one.
  ///   - channels: The number of planes.
  @_noLocks mutating func append(
    _ source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, channels: Int, frames: Int,
    _ resampler: cue_resampler
  ) {
    var first = 0
    while first < frames {
      let position = Int(written % Int64(capacity))
      let room = capacity &- position
      var (taken, given): (UInt32, UInt32) = (0, 0)
      if unsafe resampler.run == nil {
        let count = min(frames &- first, room)
        for channel in 0..<channels {
          unsafe UnsafeMutableRawPointer(planes[channel] + position).copyMemory(
            from: source[channel] + first, byteCount: count &* 4)
        }
        (taken, given) = (UInt32(count), UInt32(count))
      } else {
        for channel in 0..<channels {
          unsafe planes[channel] += position
          unsafe source[channel] += first
        }
        unsafe cue_rt_resample(
          resampler, source, UInt32(frames &- first), &taken, planes, UInt32(room), &given)
        for channel in 0..<channels {
          unsafe planes[channel] -= position
          unsafe source[channel] -= first
        }
      }
      first &+= Int(taken)
      written &+= Int64(given)
      latest &+= Int(given)
      // A resampler that takes and gives nothing has failed.
      if taken == 0 && given == 0 { return }
    }
  }

  /// Notes that the device's next call begins.
  @_noLocks mutating func beginCall() {
    latest = 0
    renderTime = .nan
  }

  /// Returns the first frame of a render by a callback that is no input proc. A render with the sample time of
  /// the one before, in the same call of the device, gets the same frames.
  ///
  /// - Parameters:
  ///   - slice: Frames of each call of the device, and of each callback.
  ///   - burst: Frames that the unit's converters collect before they give them.
  @_noLocks mutating func begin(
    _ time: UnsafePointer<cue_time_stamp>, frames: Int, slice: Int, burst: Int
  ) -> Int64 {
    let hasTime = unsafe time.pointee.flags & UInt32(cue_time_has_sample) != 0
    if hasTime, unsafe time.pointee.sample_time == renderTime {
      rendered = max(rendered, renderStart &+ Int64(frames))
      return renderStart
    }
    let length = Int64(max(frames, slice))
    let brought = max(length, Int64(Double(slice) * ratio) &+ 1)
    let waiting = written &- rendered
    if isRendering && waiting < Int64(frames) {
      lacking = min(lacking &+ Int64(frames) &- waiting, Int64(Self.mostFrames(ratio: ratio)))
    }
    let reserve = min(length &+ brought &+ Int64(burst) &+ lacking &+ 64, Int64(capacity / 2))
    let most = reserve &+ Int64(burst) &+ 2 &* max(length, Int64(latest))
    // Callbacks that take more or less than comes in, or that begin late, begin anew.
    if !isRendering || waiting < Int64(frames) || waiting > min(most, Int64(capacity)) {
      isRendering = true
      rendered = written &- reserve
    }
    renderStart = rendered
    renderTime = hasTime ? unsafe time.pointee.sample_time : .nan
    rendered &+= Int64(frames)
    return renderStart
  }

  /// Copies frames from `start` on; silence for those that came before the unit was started.
  @_noLocks func copy(
    from start: Int64, frames: Int, to output: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    channels: Int
  ) {
    let silent = Int(min(Int64(frames), max(0, 0 &- start)))
    for channel in 0..<channels {
      unsafe output[channel].initialize(repeating: 0, count: silent)
    }
    var at = silent
    while at < frames {
      let position = Int((start &+ Int64(at)) % Int64(capacity))
      let count = min(frames &- at, capacity &- position)
      for channel in 0..<channels {
        unsafe UnsafeMutableRawPointer(output[channel] + at).copyMemory(
          from: planes[channel] + position, byteCount: count &* 4)
      }
      at &+= count
    }
  }
}
