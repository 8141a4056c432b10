/// The parameters of a voice as they are in a cycle: gain with its ramp, and balance.
struct VoiceParameters: BitwiseCopyable {
  /// The gain that a ramp leads to; the gain if there is none.
  private(set) var target: Float = 1
  private var origin: Float = 1
  /// Frames of the ramp that have passed, and all of them.
  private var passed: Int64 = 0
  private var length: Int64 = 0
  private(set) var rampSeconds: Float = 0
  private(set) var pan: Float = 0

  @_noLocks init() {}

  /// True while the gain is on its way.
  var isRamping: Bool { @_noLocks get { passed < length } }

  /// The gain of the next frame.
  var gain: Float { @_noLocks get { isRamping ? gain(after: 0) : target } }

  /// The factors that the balance makes: unity on both sides at the centre.
  var balance: ChannelGain {
    @_noLocks get { ChannelGain(left: 1 - max(0, pan), right: 1 + min(0, pan)) }
  }

  /// Takes changes in; a ramp begins with the next frame.
  @_noLocks mutating func apply(_ changes: ParameterChanges, sampleRate: Double) {
    if !changes.rampSeconds.isNaN { rampSeconds = changes.rampSeconds }
    if !changes.pan.isNaN { pan = changes.pan }
    if changes.volume.isNaN { return }
    origin = gain
    target = changes.volume
    passed = 0
    // A day is more than anybody waits for, and fits.
    length = Int64(Double(min(rampSeconds, 86_400)) * sampleRate + 0.5)
  }

  /// Lets `frames` frames of a ramp pass.
  @_noLocks mutating func advance(_ frames: Int) {
    if isRamping { passed &+= Int64(frames) }
  }

  /// Multiplies frames with the gain, frame by frame: linear from the first of the ramp's frames,
  /// which still has the old gain, to the frame after its last, which has the new one.
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
