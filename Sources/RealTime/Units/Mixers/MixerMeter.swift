import CRealTime
import Synchronization

/// The level of a channel of a mixer, before or after its gains, in two parameters that only the mixer
/// sets. Process thread.
package struct MixerMeter: BitwiseCopyable {
  /// Squares added, and the largest magnitude, of the render in progress.
  private var sum: Float = 0
  private var largest: Float = 0
  /// Mean square and peak, which fall slowly.
  private var power: Float = 0
  private var peak: Float = 0
  package init() {}

  /// The level of silence, in decibels.
  static var silence: Float { @_noLocks get { -120 } }

  /// Measures samples that a gain multiplies, which moves in a straight line.
  @_noLocks mutating func add(
    _ plane: UnsafePointer<Float>, _ count: Int, from: Float, to: Float
  ) {
    let step = (to - from) / Float(count)
    for i in 0..<count {
      let sample = unsafe abs(plane[i] * (from + step * Float(i &+ 1)))
      largest = max(largest, sample)
      sum += sample * sample
    }
  }

  /// Stores average and peak at the end of a render, in decibels. The average follows within 300 ms; the
  /// peak falls by 20 dB in a second.
  @_noLocks mutating func finish(
    frames: Int, sampleRate: Double, _ average: UnsafeMutablePointer<UnitParameterSlot>,
    _ held: UnsafeMutablePointer<UnitParameterSlot>
  ) {
    let seconds = Double(frames) / sampleRate
    let share = Float(1 - cue_rt_power(2.718281828459045, -seconds / 0.3))
    power += (sum / Float(max(1, frames)) - power) * share
    peak = max(largest, peak * Float(cue_rt_power(10, -seconds)))
    sum = 0
    largest = 0
    unsafe average.pointee.set(Self.decibels(power, 10))
    unsafe held.pointee.set(Self.decibels(peak, 20))
  }

  /// Forgets all sound.
  @_noLocks mutating func clear(
    _ average: UnsafeMutablePointer<UnitParameterSlot>,
    _ held: UnsafeMutablePointer<UnitParameterSlot>
  ) {
    self = MixerMeter()
    unsafe average.pointee.set(Self.silence)
    unsafe held.pointee.set(Self.silence)
  }

  @_noLocks private static func decibels(_ value: Float, _ factor: Double) -> Float {
    value > 0 ? max(silence, Float(factor * cue_rt_log10(Double(value)))) : silence
  }
}

/// Meters of a bus of a mixer: for each channel one before its gains and one after them.
@safe
package struct MeterBank: ~Copyable {
  private let meters: UnsafeMutablePointer<MixerMeter>
  package let channels: Int
  /// The parameters: the averages of all channels before the gains, their peaks, and both after the
  /// gains.
  private let slots: UnsafeMutablePointer<UnitParameterSlot>
  private let isOn = Atomic<Bool>(false)
  private var wasOn = false

  /// - Parameter meters: Two of each channel.
  package init(
    _ meters: UnsafeMutablePointer<MixerMeter>, channels: Int,
    _ slots: UnsafeMutablePointer<UnitParameterSlot>
  ) {
    unsafe self.meters = meters
    self.channels = channels
    unsafe self.slots = slots
  }

  /// Turns the meters on or off. Any thread.
  package func setOn(_ on: Bool) { isOn.store(on, ordering: .relaxed) }
  package var isMetering: Bool { @_noLocks get { isOn.load(ordering: .relaxed) } }

  /// Measures a channel before its gain and after it.
  @_noLocks borrowing func add(
    _ channel: Int, _ plane: UnsafePointer<Float>, _ count: Int, from: Float, to: Float
  ) {
    guard isMetering, channel < channels else { return }
    unsafe meters[2 &* channel].add(plane, count, from: 1, to: 1)
    unsafe meters[2 &* channel &+ 1].add(plane, count, from: from, to: to)
  }

  @_noLocks mutating func finish(frames: Int, sampleRate: Double) {
    let isOn = isMetering
    if !isOn && !wasOn { return }
    for channel in 0..<channels {
      for stage in 0..<2 {
        let average = unsafe slots + (2 &* stage &* channels &+ channel)
        let peak = unsafe average + channels
        let meter = unsafe meters + (2 &* channel &+ stage)
        if isOn {
          unsafe meter.pointee.finish(
            frames: frames, sampleRate: sampleRate, average, peak)
        } else {
          unsafe meter.pointee.clear(average, peak)
        }
      }
    }
    wasOn = isOn
  }
}
