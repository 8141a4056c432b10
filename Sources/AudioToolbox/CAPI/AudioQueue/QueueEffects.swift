import AudioQueue
import AudioUnits
public import CAudioToolbox
import RealTime
import Server
import Synchronization

// The functions of QueueEffects.h. The header documents each function.

/// The ways of queues through units.
final class QueueRoutes: Sendable {
  static let shared = QueueRoutes()

  private struct Route: Sendable {
    let graph: EffectGraph
    let strip: EffectGraph.Strip
    let mixer: ObjectIdentifier?
  }
  private struct State {
    /// By the handles of the queues.
    var routes: [UInt: Route] = [:]
    /// By the mixers.
    var graphs: [ObjectIdentifier: EffectGraph] = [:]
  }
  private let state = Mutex(State())
  /// Held while routes change. Lock it before `state`.
  private let control = Mutex<Void>(())

  func effects(of handle: UInt) -> [AudioUnits.Unit] {
    guard let route = state.withLock({ $0.routes[handle] }) else { return [] }
    return route.graph.effects(of: route.strip)
  }

  func setEffects(_ units: [AudioUnits.Unit], of queue: OutputQueue, _ handle: UInt)
    throws(QueueEffectError)
  {
    try control.withLock { _ throws(QueueEffectError) in
      if let route = state.withLock({ $0.routes[handle] }) {
        try translatingErrors { () throws(EffectError) in
          try route.graph.setEffects(units, of: route.strip)
        }
        if queue.hasEnded { route.graph.settle() }
        return
      }
      if units.isEmpty { return }
      try move(queue, handle, to: nil, bus: 0, effects: units)
    }
  }

  func setMixer(_ mixer: AudioUnits.Unit?, bus: Int, of queue: OutputQueue, _ handle: UInt)
    throws(QueueEffectError)
  {
    try control.withLock { _ throws(QueueEffectError) in
      let old = state.withLock { $0.routes[handle] }
      let effects = old.map { $0.graph.effects(of: $0.strip) } ?? []
      if old == nil && mixer == nil { return }
      try move(queue, handle, to: mixer, bus: bus, effects: effects)
    }
  }

  /// Gives a queue another way, and removes the one that it has.
  private func move(
    _ queue: OutputQueue, _ handle: UInt, to mixer: AudioUnits.Unit?, bus: Int,
    effects: [AudioUnits.Unit]
  ) throws(QueueEffectError) {
    do throws(QueueError) { try queue.checkNotPrimed() } catch { throw .queue(error) }
    let old = state.withLock { $0.routes[handle] }
    if let old {
      try translatingErrors { () throws(EffectError) in try old.graph.setEffects([], of: old.strip)
      }
    }
    if mixer == nil && effects.isEmpty {
      try play(queue, handle, through: nil)
    } else {
      let key = mixer.map { ObjectIdentifier($0) }
      let channels = queue.format.channels
      let graph = try translatingErrors { () throws(EffectError) in
        if let key, let known = state.withLock({ $0.graphs[key] }) { return known }
        return try EffectGraph(
          on: JackServer(), named: QueueHandle.programName, channels: channels, mixer: mixer)
      }
      let strip = try translatingErrors { () throws(EffectError) in
        do throws(EffectError) {
          return try graph.addStrip(named: "queue", channels: channels, bus: bus, effects: effects)
        } catch {
          graph.closeIfUnused()
          throw error
        }
      }
      let route = Route(graph: graph, strip: strip, mixer: key)
      do throws(QueueEffectError) {
        try play(queue, handle, through: route)
      } catch {
        remove(route)
        throw error
      }
    }
    if let old { remove(old) }
  }

  private func play(_ queue: OutputQueue, _ handle: UInt, through route: Route?)
    throws(QueueEffectError)
  {
    do throws(QueueError) {
      try queue.play(
        through: route.map { ($0.graph.device, $0.strip.inputs) }, else: JackServer())
    } catch {
      throw .queue(error)
    }
    state.withLock { state in
      state.routes[handle] = route
      if let route, let mixer = route.mixer { state.graphs[mixer] = route.graph }
    }
  }

  private func remove(_ route: Route) {
    guard route.graph.remove(route.strip), let mixer = route.mixer else { return }
    state.withLock { state in
      if state.graphs[mixer] === route.graph { state.graphs[mixer] = nil }
    }
  }

  /// Forgets a queue that was disposed of.
  func forget(_ handle: UInt) {
    control.withLock { _ in
      guard let route = state.withLock({ $0.routes.removeValue(forKey: handle) }) else { return }
      try? route.graph.setEffects([], of: route.strip)
      remove(route)
    }
  }

  private func translatingErrors<R>(_ body: () throws(EffectError) -> R) throws(QueueEffectError)
    -> R
  {
    do throws(EffectError) { return try body() } catch { throw .effect(error) }
  }
}

/// Reason why a function of QueueEffects.h fails.
enum QueueEffectError: APIFailure {
  case badArgument(String)
  case queue(QueueError)
  case unit(AudioUnitError)
  case effect(EffectError)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .queue(let error): error.status
    case .unit(let error): error.status
    case .effect(.unit(let error)): AudioUnitError.unit(error).status
    case .effect(.server(let error)): QueueError.cannotStart(error).status
    case .effect(.graph): kAudioUnitErr_FailedInitialization
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let reason): reason
    case .queue(let error): error.reason
    case .unit(let error): error.reason
    case .effect(.unit(let error)): error.reason
    case .effect(.server(let error)): "\(error)"
    case .effect(.graph(let error)): "\(error)"
    }
  }
}

/// Runs the body of a C function with a playback queue.
private func withQueue(
  _ reference: AudioQueueRef?, _ function: String,
  _ body: (OutputQueue, UInt) throws(QueueEffectError) -> Void
) -> OSStatus {
  answer(function) { () throws(QueueEffectError) in
    let number = UInt(bitPattern: reference)
    guard let handle = QueueHandle.all.object(number) else {
      throw .badArgument("there is no such queue")
    }
    let queue: OutputQueue
    do throws(QueueError) { queue = try handle.playbackQueue } catch { throw .queue(error) }
    try body(queue, number)
  }
}

private func unit(_ reference: AudioUnit?) throws(QueueEffectError) -> AudioUnits.Unit {
  do throws(AudioUnitError) { return try unsafe UnitHandles.shared.unit(reference).unit } catch {
    throw .unit(error)
  }
}

/// Lets a queue's sound pass units.
@c @implementation
public func CueQueueSetEffects(
  _ inAQ: AudioQueueRef, _ inCount: UInt32, _ inUnits: UnsafePointer<AudioUnit?>?
) -> OSStatus {
  unsafe withQueue(inAQ, "CueQueueSetEffects") { queue, handle throws(QueueEffectError) in
    var units: [AudioUnits.Unit] = []
    for i in 0..<Int(inCount) {
      guard let list = unsafe inUnits else { throw .badArgument("the units are NULL") }
      let next = unsafe try unit(list[i])
      if units.contains(where: { $0 === next }) {
        throw .badArgument("\(next.name) is in the list twice")
      }
      units.append(next)
    }
    try QueueRoutes.shared.setEffects(units, of: queue, handle)
  }
}

/// Copies the units that a queue's sound passes.
@c @implementation
public func CueQueueGetEffects(
  _ inAQ: AudioQueueRef, _ ioCount: UnsafeMutablePointer<UInt32>,
  _ outUnits: UnsafeMutablePointer<AudioUnit?>?
) -> OSStatus {
  if unsafe hasNull([ioCount]) { return kAudio_ParamError }
  return unsafe withQueue(inAQ, "CueQueueGetEffects") { _, handle in
    let units = QueueRoutes.shared.effects(of: handle)
    if let memory = unsafe outUnits {
      for (i, unit) in units.prefix(unsafe Int(ioCount.pointee)).enumerated() {
        unsafe memory[i] = UnitHandles.shared.reference(of: unit)
      }
    }
    unsafe ioCount.pointee = UInt32(units.count)
  }
}

/// Makes a queue an input of a mixer.
@c @implementation
public func CueQueueSetMixer(
  _ inAQ: AudioQueueRef, _ inMixer: AudioUnit?, _ inBus: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "CueQueueSetMixer") { queue, handle throws(QueueEffectError) in
    let mixer = unsafe inMixer == nil ? nil : try unit(inMixer)
    try QueueRoutes.shared.setMixer(mixer, bus: Int(inBus), of: queue, handle)
  }
}
