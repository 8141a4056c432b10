import Timeline

/// Parameters of a voice during a cycle: gain with its ramp, and balance.
struct VoiceParameters: BitwiseCopyable {
  /// Gain at the end of the ramp; the gain itself if no ramp is active.
  private(set) var target: Float = 1
  private var origin: Float = 1
  /// Frames of the ramp that have passed, and its length in frames.
  private var passed: Int64 = 0
  private var length: Int64 = 0
  private(set) var rampSeconds: Float = 0
  private(set) var pan: Float = 0

  @_noLocks init() {}

  /// True while a ramp is active.
  var isRamping: Bool { @_noLocks get { passed < length } }

  /// Gain of the next frame.
  var gain: Float { @_noLocks get { isRamping ? gain(after: 0) : target } }

  /// Factors of the balance: unity on both sides at the centre.
  var balance: ChannelGain {
    @_noLocks get { ChannelGain(pan: pan) }
  }

  /// Applies changes. A ramp begins with the next frame.
  @_noLocks mutating func apply(_ changes: ParameterChanges, sampleRate: Double) {
    if !changes.rampSeconds.isNaN { rampSeconds = changes.rampSeconds }
    if !changes.pan.isNaN { pan = changes.pan }
    if changes.volume.isNaN { return }
    origin = gain
    target = changes.volume
    passed = 0
    // At most a day, so that the number of frames fits.
    length = Int64(held: Double(min(rampSeconds, 86_400)) * sampleRate + 0.5)
  }

  /// Advances a ramp by `frames` frames.
  @_noLocks mutating func advance(_ frames: Int) {
    if isRamping { passed &+= Int64(frames) }
  }

  /// Multiplies each frame by its gain. A ramp is linear: its first frame still has the old gain,
  /// and the frame after its last one has the new gain.
  @_noLocks func ramp(_ samples: UnsafeMutablePointer<Float>, frames: Int) {
    let ramping = Int(min(Int64(frames), length &- passed))
    for i in 0..<ramping { unsafe samples[i] *= gain(after: i) }
    for i in ramping..<frames { unsafe samples[i] *= target }
  }

  @_noLocks private func gain(after frames: Int) -> Float {
    let share = Double(passed &+ Int64(frames)) / Double(length)
    return Float(Double(origin) + Double(target - origin) * share)
  }
}
