import AudioQueue
import AudioUnits
import CAudioToolbox
import RealTime
import Server
import Synchronization
import System

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
          on: JackServer(), named: clientName, channels: channels, mixer: mixer)
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
