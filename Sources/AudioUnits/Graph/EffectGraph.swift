import Glibc
import Graph
import PluginHost
package import Server
import Synchronization
import System

/// The graph of a client of its own, through which queues play: each queue's sound passes units, then a mixer
/// if there is one, and leaves by the client's ports. Any thread that is not real time.
package final class EffectGraph: Sendable {
  /// A queue's way through the graph.
  package final class Strip: Sendable {
    package let inputs: [ClientPort]
    package let channels: Int
    fileprivate let source: NodeID
    fileprivate let bus: Int
    fileprivate let effects = Mutex<[(unit: Unit, id: NodeID)]>([])

    fileprivate init(_ inputs: [ClientPort], channels: Int, _ source: NodeID, bus: Int) {
      self.inputs = inputs
      self.channels = channels
      self.source = source
      self.bus = bus
    }
  }

  package let device: Device
  private let graph: Graph
  private let exit: NodeID
  private let ports: [String]
  private let mixer: (node: UnitNode, id: NodeID)?
  private struct State {
    var strips: [ObjectIdentifier: Strip] = [:]
    var isRunning = false
  }
  private let state = Mutex(State())

  /// Opens a client. It gets its ports with the first strip.
  ///
  /// - Parameters:
  ///   - channels: Ports, unless there is a mixer, whose output decides.
  ///   - mixer: The unit whose buses the queues are; nil if all leave by the ports.
  package init(
    on server: any Server, named name: String, channels: Int, mixer unit: Unit? = nil
  ) throws(EffectError) {
    do throws(ServerError) {
      device = try Device(server, clientName: name)
    } catch {
      throw .server(error)
    }
    do throws(EffectError) {
      let rate = device.client.sampleRate
      graph = Graph(sampleRate: rate, blockFrames: 1024)
      let node: UnitNode?
      do throws(UnitError) {
        node = try unit.map { unit throws(UnitError) in
          try UnitNode(unit, channels: nil, sampleRate: rate)
        }
      } catch {
        throw .unit(error)
      }
      let count = node?.outputs ?? channels
      let ports = (1...count).map { "out_\($0)" }
      do throws(HostError) {
        exit = try graph.addOutputs(named: "out", audio: ports)
        if let node {
          let id = try graph.add(node)
          for channel in 0..<count {
            try graph.connect(Wire(from: id, channel, to: exit, channel))
          }
          mixer = (node, id)
        } else {
          mixer = nil
        }
      } catch {
        throw .graph(error)
      }
      self.ports = ports
    } catch {
      device.close()
      throw error
    }
  }

  /// Adds the way of a queue.
  ///
  /// - Parameters:
  ///   - channels: Those of the queue.
  ///   - bus: The input of the mixer, if there is one.
  ///   - effects: The units that the sound passes first.
  package func addStrip(
    named name: String, channels: Int, bus: Int = 0, effects units: [Unit]
  ) throws(EffectError) -> Strip {
    if let mixer, !mixer.node.firstChannels.indices.contains(bus) {
      throw .unit(.invalidElement(UInt32(bus)))
    }
    let strip: Strip
    do throws(HostError) {
      let source = graph.addSource(named: name, channels: channels)
      strip = Strip(try graph.inputPorts(of: source), channels: channels, source, bus: bus)
    } catch {
      throw .graph(error)
    }
    do throws(EffectError) {
      let effects = try add(units, to: strip, knowing: [])
      try replace([], by: chain(strip, effects.map(\.id)), removing: [])
      strip.effects.withLock { $0 = effects }
      try start()
    } catch {
      for item in strip.effects.withLock({ $0 }) { try? graph.remove(item.id) }
      try? graph.remove(strip.source)
      throw error
    }
    state.withLock { $0.strips[ObjectIdentifier(strip)] = strip }
    return strip
  }

  /// Lets the client run the graph and connects its ports, or waits until a client that runs has faded its
  /// new strip in.
  private func start() throws(EffectError) {
    let isRunning = state.withLock { state in
      defer { state.isRunning = true }
      return state.isRunning
    }
    if isRunning { return settle() }
    do throws(HostError) { try graph.run(on: device) } catch { throw .graph(error) }
    do throws(ServerError) {
      // A single channel is heard on both sides.
      try device.connectToCard(ports, .output, count: max(2, ports.count))
    } catch {
      throw .server(error)
    }
  }

  /// Waits until no sound fades over, for two seconds at most.
  package func settle() { graph.awaitSettled(on: device) }

  /// The wires from the end of a strip to the mixer or the ports. A single channel goes to the first two.
  private func wires(from node: NodeID, _ strip: Strip) -> [Wire] {
    let (target, first, count): (NodeID, Int, Int)
    if let mixer {
      let firsts = mixer.node.firstChannels
      let end = strip.bus + 1 < firsts.count ? firsts[strip.bus + 1] : mixer.node.inputs
      (target, first, count) = (mixer.id, firsts[strip.bus], end - firsts[strip.bus])
    } else {
      (target, first, count) = (exit, 0, strip.channels)
    }
    return (0..<count).compactMap { channel in
      let source = strip.channels == 1 && channel < 2 ? 0 : channel
      return source < strip.channels
        ? Wire(from: node, source, to: target, first + channel) : nil
    }
  }

  /// Puts units in the place of those that a strip has. In a client that runs, the sound fades over.
  package func setEffects(_ units: [Unit], of strip: Strip) throws(EffectError) {
    let known = strip.effects.withLock { $0 }
    let effects = try add(units, to: strip, knowing: known)
    let gone = known.filter { item in !effects.contains { $0.id == item.id } }.map(\.id)
    try replace(
      chain(strip, known.map(\.id)), by: chain(strip, effects.map(\.id)), removing: gone)
    strip.effects.withLock { $0 = effects }
  }

  /// Adds nodes for the units that have none yet.
  private func add(_ units: [Unit], to strip: Strip, knowing known: [(unit: Unit, id: NodeID)])
    throws(EffectError) -> [(unit: Unit, id: NodeID)]
  {
    var effects: [(unit: Unit, id: NodeID)] = []
    var added: [NodeID] = []
    for unit in units {
      if let same = known.first(where: { $0.unit === unit }) {
        effects.append(same)
        continue
      }
      do throws(EffectError) {
        let node: UnitNode
        do throws(UnitError) {
          node = try UnitNode(
            unit, channels: strip.channels, sampleRate: device.client.sampleRate)
        } catch {
          throw .unit(error)
        }
        do throws(HostError) {
          let id = try graph.add(node)
          added.append(id)
          effects.append((unit, id))
        } catch {
          throw .graph(error)
        }
      } catch {
        for id in added { try? graph.remove(id) }
        throw error
      }
    }
    return effects
  }

  /// Puts wires in the place of others, all at once.
  private func replace(_ old: [Wire], by new: [Wire], removing gone: [NodeID]) throws(EffectError) {
    do throws(HostError) {
      try graph.edit { wiring throws(HostError) in
        for wire in old where !new.contains(wire) { try wiring.disconnect(wire) }
        for wire in new where !old.contains(wire) { try wiring.connect(wire, gain: 1) }
        for id in gone { try wiring.remove(id, joins: false) }
      }
    } catch {
      throw .graph(error)
    }
  }

  /// All wires of a strip through nodes with its channels.
  private func chain(_ strip: Strip, _ nodes: [NodeID]) -> [Wire] {
    var wires: [Wire] = []
    var last = strip.source
    for node in nodes {
      wires += (0..<strip.channels).map { Wire(from: last, $0, to: node, $0) }
      last = node
    }
    return wires + self.wires(from: last, strip)
  }

  package func effects(of strip: Strip) -> [Unit] { strip.effects.withLock { $0.map(\.unit) } }

  /// Closes the client if it has no strip.
  package func closeIfUnused() {
    if state.withLock({ $0.strips.isEmpty }) { close() }
  }

  private func close() {
    graph.stop()
    device.close()
  }

  /// Removes the way of a queue that plays through it no more. The last one closes the client.
  ///
  /// - Returns: True if it was the last one.
  @discardableResult
  package func remove(_ strip: Strip) -> Bool {
    let isLast = state.withLock { state in
      state.strips[ObjectIdentifier(strip)] = nil
      return state.strips.isEmpty
    }
    if isLast {
      close()
    } else {
      try? graph.edit { wiring throws(HostError) in
        for item in strip.effects.withLock({ $0 }) { try wiring.remove(item.id, joins: false) }
        try wiring.remove(strip.source, joins: false)
      }
    }
    return isLast
  }
}
