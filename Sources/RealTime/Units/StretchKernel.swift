package import CRealTime

/// A unit whose input runs at another speed than its output. Owns no memory.
///
/// The parameters are the speed and the pitch in cents.
@safe
package struct Stretch: ~Copyable {
  private let slots: UnsafeMutablePointer<UnitParameterSlot>
  /// True if speed and pitch change together, as on a tape.
  private let isTape: Bool
  /// The least and the largest speed.
  private let slowest: Double
  private let fastest: Double
  private let switches: UnsafeMutablePointer<NodeSwitches>
  /// Speed and pitch that the converter has been told.
  private let told: UnsafeMutablePointer<SIMD2<Float>>

  /// How many times shorter a sound may become, counted without its pitch: of more, Rubber Band may make what is no
  /// number, and writes about it.
  package static var mostShortening: Double { @_noLocks get { 8 } }

  /// - Parameters:
  ///   - speeds: The least and the largest speed.
  ///   - switches: Those of the unit, which runs at speed 1 while it is bypassed.
  package init(
    _ slots: UnsafeMutablePointer<UnitParameterSlot>, isTape: Bool, speeds: ClosedRange<Double>,
    switches: UnsafeMutablePointer<NodeSwitches>, told: UnsafeMutablePointer<SIMD2<Float>>
  ) {
    unsafe self.slots = slots
    self.isTape = isTape
    slowest = speeds.lowerBound
    fastest = speeds.upperBound
    unsafe self.switches = switches
    unsafe self.told = told
  }

  @_noLocks borrowing func follow(_ setup: UnitSetup) {
    let isBypassed = unsafe switches.pointee.bypass
    let values = unsafe isBypassed ? SIMD2(1, 0) : SIMD2(slots[0].value, slots[1].value)
    if unsafe values.x == told.pointee.x && values.y == told.pointee.y { return }
    unsafe told.pointee = values
    let input = unsafe setup.inputs.pointee
    let rates = unsafe input.format.sampleRate / setup.outputs.pointee.format.sampleRate
    let pitch = cue_rt_power(2, Double(values.y) / 1200)
    let speed = Double(values.x) * (isTape ? pitch : 1)
    let most = isTape ? fastest : min(fastest, Self.mostShortening * pitch)
    let held = min(max(speed, slowest), most)
    unsafe cue_rt_set_ratio(input.resampler, held * rates, pitch * rates)
  }
}

/// The kernel of units that stretch: `context` is a `Stretch`.
@_noLocks package func runStretch(
  _ context: UnsafeMutableRawPointer, _ call: UnsafePointer<cue_unit_call>
) -> Int32 {
  let setup = unsafe call.pointee.setup.assumingMemoryBound(to: UnitSetup.self)
  unsafe context.assumingMemoryBound(to: Stretch.self).pointee.follow(setup.pointee)
  return unsafe runPass(context, call)
}
