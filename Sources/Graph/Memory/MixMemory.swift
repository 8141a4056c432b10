import RealTime
import Synchronization

/// Owns the faders and timelines of a graph, the points of its curves, and what cycles read of them. Any thread but the
/// process thread.
@safe
final class MixMemory: @unchecked Sendable {
  /// The gains and courses that a cycle takes as a whole.
  @safe
  private final class Orders: @unchecked Sendable {
    let orders: UnsafeMutablePointer<MixOrders>
    private let gains: UnsafeMutablePointer<FaderOrder>
    private let courses: UnsafeMutablePointer<GraphCourse>

    init(_ number: UInt64, _ gains: [FaderOrder], _ courses: [GraphCourse]) {
      unsafe self.gains = copied(gains)
      unsafe self.courses = copied(courses)
      unsafe orders = .allocate(capacity: 1)
      unsafe orders.initialize(to: MixOrders(number: number, self.gains, self.courses))
    }

    deinit {
      unsafe gains.deallocate()
      unsafe courses.deallocate()
      unsafe orders.deallocate()
    }
  }

  private struct State {
    var gains: [FaderOrder]
    var courses: [GraphCourse]
    var number: UInt64 = 0
    var present: Orders?
    /// Orders that a cycle may still read, and the cycle count after which each can be freed.
    var retired: [(orders: Orders, until: UInt64)] = []
  }

  let mix: UnsafeMutablePointer<GraphMix>
  private let faders: UnsafeMutablePointer<GraphFader>
  private let courses: UnsafeMutablePointer<GraphCourse>
  private var points: [UnsafeMutablePointer<CurvePoint>]
  private var gainCurves: [UnsafeMutablePointer<GainCurve>]
  private let state: Mutex<State>

  /// - Parameter curves: The curves of each fader.
  init(_ curves: [[(kind: GainCurve.Kind, curve: GraphCurve)]], courses count: Int) {
    unsafe points = []
    unsafe gainCurves = []
    unsafe faders = .allocate(capacity: max(1, curves.count))
    unsafe courses = copied([GraphCourse](repeating: GraphCourse(), count: count))
    unsafe mix = .allocate(capacity: 1)
    unsafe mix.initialize(
      to: GraphMix(faders: faders, count: curves.count, courses: courses, count: count))
    state = Mutex(
      State(
        gains: curves.map { _ in FaderOrder(gain: 1, number: 0) },
        courses: [GraphCourse](repeating: GraphCourse(), count: count)))
    for (i, list) in curves.enumerated() {
      let memory = unsafe copied(list.map { GainCurve($0.kind, curve($0.curve)) })
      unsafe gainCurves.append(memory)
      unsafe (faders + i).initialize(to: GraphFader(list.isEmpty ? nil : memory, count: list.count))
    }
  }

  deinit {
    unsafe points.forEach { unsafe $0.deallocate() }
    unsafe gainCurves.forEach { unsafe $0.deallocate() }
    unsafe mix.deinitialize(count: 1)
    unsafe mix.deallocate()
    unsafe courses.deallocate()
    unsafe faders.deallocate()
  }

  /// Returns a curve, whose points live as long as this object. Call it before cycles run.
  func curve(_ curve: GraphCurve) -> Curve {
    let memory = unsafe copied(curve.points)
    unsafe points.append(memory)
    return unsafe Curve(
      memory, count: curve.points.count, isStepped: curve.isStepped, on: courses + curve.course)
  }

  func fader(_ number: Int) -> UnsafePointer<GraphFader> { unsafe UnsafePointer(faders + number) }

  /// The gain that was ordered last.
  func gain(of fader: Int) -> Float { state.withLock { $0.gains[fader].gain } }

  /// Orders gains and courses that cycles take together, if they differ from the present ones.
  ///
  /// - Parameters:
  ///   - gains: The gain of each fader; nil to leave all.
  ///   - start: The device frame of the ramps; `Int64.min` for the next cycle.
  ///   - frames: Frames of the ramps.
  func order(
    _ gains: [Float]?, from start: Int64 = .min, over frames: Int64 = 0, _ courses: [GraphCourse]?,
    to cycle: UnsafeMutablePointer<GraphCycle>
  ) {
    state.withLock { state in
      let number = state.number + 1
      var new = state.gains
      for (i, gain) in (gains ?? []).enumerated() where new[i].gain != gain {
        new[i] = FaderOrder(gain: gain, start: start, frames: frames, number: number)
      }
      if state.present != nil, new == state.gains, courses ?? state.courses == state.courses {
        return
      }
      state.gains = new
      state.courses = courses ?? state.courses
      state.number = number
      let orders = Orders(number, state.gains, state.courses)
      unsafe mix.pointee.publish(orders.orders)
      let count = unsafe cycle.pointee.cyclesBegun
      if let old = state.present { state.retired.append((old, count)) }
      state.present = orders
      state.retired.removeAll { unsafe cycle.pointee.areOver($0.until) }
    }
  }
}

/// Returns memory with the elements of an array, which the caller frees.
private func copied<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafeMutablePointer<
  Element
> {
  let memory = UnsafeMutablePointer<Element>.allocate(capacity: max(1, elements.count))
  unsafe memory.initialize(from: elements, count: elements.count)
  return unsafe memory
}
