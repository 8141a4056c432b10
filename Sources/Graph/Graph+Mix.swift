import CRealTime
package import RealTime
import Synchronization
import Timeline

/// Faders and curves: gains that change in cycles, apart from the crossfades of edits.
extension Graph {
  /// Adds the faders and timelines of the graph. Wires pass the faders: see `Wiring.connect`. Precondition: there are
  /// none yet, and no cycle runs.
  ///
  /// - Parameter curves: The curves that each fader follows.
  package func addFaders(
    _ curves: [[(kind: GainCurve.Kind, curve: GraphCurve)]], courses: Int
  ) {
    let memory = MixMemory(curves, courses: courses)
    state.withLock { $0.mix = memory }
    unsafe memory.order(nil, nil, to: cycle)
    unsafe cycle.pointee.mix = unsafe memory.mix
  }

  /// Sets the gains of all faders, effective in one cycle.
  ///
  /// - Parameters:
  ///   - frame: The device frame: the ramps begin with the first cycle that does not begin before. Nil for the next
  ///     cycle.
  ///   - seconds: Length of the ramps; nil for that of a crossfade.
  package func setFaders(_ gains: [Float], from frame: Int64? = nil, over seconds: Double? = nil) {
    let (mix, rate) = state.withLock { ($0.mix, $0.sampleRate) }
    let frames = Int64(held: ((seconds ?? fadeSeconds) * rate).rounded())
    unsafe mix?.order(gains, from: frame ?? .min, over: frames, nil, to: cycle)
  }

  /// Sets the courses of all timelines, effective in one cycle.
  package func setCourses(_ courses: [GraphCourse]) {
    let mix = state.withLock { $0.mix }
    unsafe mix?.order(nil, courses, to: cycle)
  }

  /// Creates a node that moves controls of plugins along curves. Its event output goes to the controllers of the
  /// plugins: see `Wiring.connectControllers`. Call it after `addFaders`, before cycles run.
  ///
  /// - Parameters:
  ///   - curves: The numbers of controls, and their curves.
  ///   - type: The URID of the events.
  package func controlCurves(
    named name: String, _ curves: [(control: Int, curve: GraphCurve)], type: UInt32
  ) -> CallbackNode? {
    guard let mix = state.withLock({ $0.mix }) else { return nil }
    let memory = ControlCurvesMemory(
      curves.map { ControlCurve(mix.curve($0.curve), of: UInt32($0.control)) }, mix, types, type)
    return memory.node(named: name)
  }
}

/// Owns the state of a node that moves controls along curves.
@safe
private final class ControlCurvesMemory: @unchecked Sendable {
  private let curves: UnsafeMutablePointer<ControlCurve>
  private let kernel: UnsafeMutablePointer<ControlCurves>
  /// Owns the points of the curves.
  private let mix: MixMemory

  init(_ list: [ControlCurve], _ mix: MixMemory, _ types: cue_event_types, _ type: UInt32) {
    self.mix = mix
    unsafe curves = .allocate(capacity: max(1, list.count))
    unsafe curves.initialize(from: list, count: list.count)
    unsafe kernel = .allocate(capacity: 1)
    unsafe kernel.initialize(to: ControlCurves(curves, count: list.count, types, type: type))
  }

  deinit {
    unsafe curves.deallocate()
    unsafe kernel.deallocate()
  }

  func node(named name: String) -> CallbackNode {
    let run = unsafe cue_node(
      run: { context, block in
        unsafe context.assumingMemoryBound(to: ControlCurves.self).pointee.run(block)
      }, context: kernel, prefetched_bytes: MemoryLayout<ControlCurves>.size)
    return unsafe CallbackNode(
      named: name, outputs: 0, eventOutputs: 1, run, keeping: self)
  }
}
