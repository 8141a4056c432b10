import Glibc
package import Graph
package import PluginHost
import RealTime
import Server
import System

/// The graph of a session: a source for each track, chains, buses, and one node with all JACK ports,
/// which keeps them in step.
///
/// Its nodes and wires are made before a device runs it; gains and plugins change afterwards. Any thread.
package struct SessionMixer: Sendable {
  let graph: Graph
  /// The sources, of which the track's queue fills the memory.
  let sources: [NodeID]
  /// The chains of the tracks and of the buses, in the document's order.
  let trackChains: [PluginStages]
  let busChains: [PluginStages]
  /// The name of the MIDI input port; nil if nothing takes MIDI.
  let midiInput: String?
  /// The tap of the MIDI input; nil if no controller and no note concerns the session.
  package let tap: MIDITap?
  /// The node of the JACK ports.
  let exit: NodeID

  /// A wire behind a chain, and its part of the fader's gain.
  private struct Fader: Sendable {
    let wire: Wire
    let channel: Int
    /// The share without the balance.
    let share: Float
    /// Number of the graph's fader.
    let number: Int
  }
  private let trackFaders: [[Fader]]
  private let busFaders: [[Fader]]
  /// The wires from the chains of buses to the ports of the sends, in order, and the indices of these buses.
  private let sendFaders: [[Fader]]
  private let sentBuses: [Int]
  private let timeline: SessionTimescale
  /// The wires from the sources to their chains.
  private let entries: [[Wire]]
  private let isStereo: [Bool]
  /// The curves of gains, balances, mutes and controls.
  let automation: SessionAutomation

  /// Name of the MIDI input port.
  private static let midiPort = "midi_in"

  /// Creates the nodes and wires of a session, and sets its plugins up.
  ///
  /// - Parameters:
  ///   - folder: The session's folder, for the states of plugins.
  ///   - priority: The real-time priority of the cycles; nil if they are not real-time.
  ///   - threads: The number of threads that run the chains.
  /// - Throws: `SessionError.faults` with the plugin at fault.
  init(
    _ document: SessionDocument, _ plan: SessionPlan, in folder: SessionFolder, blockFrames: Int,
    priority: Int?, threads: Int
  ) throws(SessionError) {
    let rate = plan.timeline.sampleRate
    timeline = plan.timeline
    let graph = Graph(
      sampleRate: rate, blockFrames: blockFrames,
      threads: GraphThreads(threads, priority: priority))
    self.graph = graph
    let world = World(validator: PluginValidator())
    let check = PluginCheck(world)
    let settings = PluginSettings(sampleRate: rate, maximumFrames: blockFrames)
    let valueFaults = SessionCheck.pluginValues(of: document, check.faults(of:))
    if !valueFaults.isEmpty { throw .faults(file: "", valueFaults) }
    let automation = SessionAutomation(
      document, plan.timeline, groups: plan.groups.map(\.tracks))
    self.automation = automation
    func stages(_ chain: [SessionPlugin], _ path: SessionPath, behind node: NodeID, _ channels: Int)
      throws(SessionError) -> PluginStages
    {
      let path = path.appending(key: "chain")
      let faults = chain.enumerated().flatMap { index, plugin in
        check.faults(of: plugin).map { $0.behind(path.appending(index: index)) }
      }
      if !faults.isEmpty { throw .faults(file: "", SessionFaults(faults).list) }
      var choices: [PluginChoice] = []
      for plugin in chain { choices.append(try Self.choice(plugin, in: folder, world)) }
      do throws(HostError) {
        return try PluginStages(
          choices, in: world, behind: node, Array(0..<channels), of: graph, settings,
          priority: priority)
      } catch {
        throw .faults(file: "", [SessionFault(.error, path, error.description)])
      }
    }
    var sources: [NodeID] = []
    var heads: [NodeID] = []
    var trackChains: [PluginStages] = []
    for (index, track) in document.tracks.enumerated() {
      let channels = plan.tracks[index].facts.channels
      sources.append(graph.addSource(named: track.name, channels: channels))
      let head = graph.addMixer(named: track.name, channels: channels)
      heads.append(head)
      let path = SessionPath([.key("tracks"), .index(index)])
      trackChains.append(try stages(track.chain, path, behind: head, channels))
    }
    var busHeads: [NodeID] = []
    var busChains: [PluginStages] = []
    for (index, bus) in document.buses.enumerated() {
      let head = graph.addMixer(named: bus.name, channels: bus.channels)
      busHeads.append(head)
      let path = SessionPath([.key("buses"), .index(index)])
      busChains.append(try stages(bus.chain, path, behind: head, bus.channels))
    }
    let chains = trackChains + busChains
    let hearsControllers = !document.controllers.isEmpty
    let hearsNotes = document.groups.contains { if case .note = $0.trigger { true } else { false } }
    let hearsPrograms = document.scenes.contains { $0.program != nil }
    let isTapped = hearsControllers || hearsNotes || hearsPrograms
    let hearsMIDI = isTapped || chains.contains { $0.takesMIDI }
    tap = isTapped ? MIDITap(graph.types) : nil
    self.sources = sources
    self.trackChains = trackChains
    self.busChains = busChains
    midiInput = hearsMIDI ? Self.midiPort : nil

    let outlets =
      plan.trackOutlets.sorted { $0.key < $1.key }.map(\.value)
      + plan.busOutlets.sorted { $0.key < $1.key }.map(\.value)
    let ports = outlets.flatMap(\.ports) + plan.sendPorts.joined()
    let busIndices = Dictionary(
      document.buses.enumerated().map { (Name($1.name), $0) }, uniquingKeysWith: { a, _ in a })
    do throws(HostError) {
      let exit = try graph.addOutputs(named: "ports", audio: ports)
      self.exit = exit
      let midi =
        hearsMIDI
        ? try graph.addInputs(named: "MIDI", audio: [], midi: [Self.midiPort]) : nil
      let listener = try tap.map { tap throws(HostError) in try graph.add(tap.node()) }
      var faderCount = 0
      /// The faders from a chain to a bus, or to ports.
      func faders(_ chain: PluginStages, bus: String?, _ outlet: [String]?) -> [Fader] {
        let target: (node: NodeID, inputs: [Int])
        if let bus, let index = busIndices[Name(bus)] {
          target = (busHeads[index], Array(0..<document.buses[index].channels))
        } else {
          let first = outlet?.first.flatMap { ports.firstIndex(of: $0) } ?? 0
          target = (exit, Array(first..<first + (outlet?.count ?? 0)))
        }
        return SessionDocument.wires(
          from: chain.outputs.count, to: target.inputs.count
        ).map { wire in
          defer { faderCount += 1 }
          return Fader(
            wire: Wire(
              from: chain.last, chain.outputs[wire.from], to: target.node, target.inputs[wire.to]),
            channel: wire.to, share: wire.share, number: faderCount)
        }
      }
      let trackFaders = document.tracks.indices.map {
        faders(trackChains[$0], bus: document.tracks[$0].bus, plan.trackOutlets[$0]?.ports)
      }
      let busFaders = document.buses.indices.map {
        faders(busChains[$0], bus: document.buses[$0].bus, plan.busOutlets[$0]?.ports)
      }
      let sentBuses = document.sends.map { busIndices[Name($0.bus)] ?? 0 }
      let sendFaders = zip(sentBuses, plan.sendPorts).map { faders(busChains[$0], bus: nil, $1) }
      self.sentBuses = sentBuses
      self.sendFaders = sendFaders
      self.trackFaders = trackFaders
      self.busFaders = busFaders
      let isStereo = trackFaders.enumerated().map { index, faders in
        trackChains[index].outputs.count <= 2 && Set(faders.map(\.channel)).count == 2
      }
      self.isStereo = isStereo
      func curves(_ owner: Int, _ faders: [Fader], isTrack: Bool) -> [[(
        kind: GainCurve.Kind, curve: GraphCurve
      )]] {
        faders.map {
          automation.gains(
            isTrack: isTrack, owner, channel: $0.channel,
            isStereo: isTrack && isStereo[owner])
        }
      }
      graph.addFaders(
        trackFaders.enumerated().flatMap { curves($0, $1, isTrack: true) }
          + busFaders.enumerated().flatMap { curves($0, $1, isTrack: false) }
          + zip(sentBuses, sendFaders).flatMap { curves($0, $1, isTrack: false) },
        courses: plan.groups.count)
      var controlCurves: [(node: NodeID, plugins: [NodeID])] = []
      for (path, plugin) in document.plugins {
        let instances = Self.instances(at: path, trackChains, busChains)
        let moved = automation.targets.filter { $0.pluginPath == path }.compactMap {
          target -> (control: Int, curve: GraphCurve)? in
          guard case .control(_, let name) = target.value, let curve = automation[target],
            let control = instances.first?.plugin.controls.firstIndex(of: name)
          else { return nil }
          return (control, curve)
        }
        if moved.isEmpty { continue }
        let node = graph.controlCurves(
          named: "curves of \(plugin.id)", moved.sorted { $0.control < $1.control },
          type: Graph.controlMove)
        if let node { controlCurves.append((try graph.add(node), instances.map(\.id))) }
      }
      let entries = zip(sources, heads).enumerated().map { index, ends in
        (0..<plan.tracks[index].facts.channels).map {
          Wire(from: ends.0, $0, to: ends.1, $0)
        }
      }
      self.entries = entries
      try graph.edit { wiring throws(HostError) in
        for wire in entries.joined() { try wiring.connect(wire) }
        for chain in chains {
          try chain.connect(&wiring)
          try chain.connectMIDI(from: midi, hearsControllers: hearsControllers, &wiring)
        }
        if let midi, let listener {
          try wiring.connect(Wire(from: midi, to: listener, isEvent: true))
        }
        for (node, plugins) in controlCurves {
          for plugin in plugins { try wiring.connectControllers(node, 0, to: plugin) }
        }
      }
      try setDelays(document)
      setGains(document, over: 0)
      for (path, plugin) in document.plugins where plugin.bypass { try setBypass(path, true) }
    } catch {
      throw .faults(file: "", [SessionFault(.error, .root, error.description)])
    }
  }

  private static func choice(_ plugin: SessionPlugin, in folder: SessionFolder, _ world: World)
    throws(SessionError) -> PluginChoice
  {
    var choice = PluginChoice(uri: plugin.uri, preset: plugin.preset)
    do throws(HostError) {
      choice.uri = try world.uri(named: plugin.uri) ?? plugin.uri
    } catch {
      throw .faults(file: "", [SessionFault(.error, .root, error.description)])
    }
    choice.isIsolated = plugin.isolate
    choice.isTrusted = plugin.trust
    if let state = plugin.state {
      choice.stateFolder = try folder.pathOfFolder(state)
      if choice.stateFolder == nil {
        throw .system(
          file: "\(folder.path)/\(state)", action: "open", code: ENOENT,
          text: "there is no such folder, and the plugin “\(plugin.id)” has its state there")
      }
    }
    let file = [SoundFontPlugin.uri: plugin.soundFont, ConvolverPlugin.uri: plugin.impulse]
    choice.file = file[choice.uri]?.map(folder.location(of:))
    for (name, value) in plugin.parameters {
      if name.contains(":") {
        choice.parameters[name] = Float(value)
      } else {
        choice.values[name] = Float(value)
      }
    }
    return choice
  }

  // MARK: Faders

  /// Sets volume, balance, mute and solo of everything, in one cycle.
  ///
  /// - Parameters:
  ///   - frame: The device frame at which a cycle begins; nil for the next cycle.
  ///   - seconds: Length of the ramps; nil for that of a crossfade.
  func setGains(_ document: SessionDocument, from frame: Int64? = nil, over seconds: Double? = nil)
  {
    graph.setFaders(gains(automation.neutral(document)), from: frame, over: seconds)
  }

  /// Returns the gains of all faders, by their numbers.
  private func gains(_ document: SessionDocument) -> [Float] {
    var gains: [Float] = []
    for (index, faders) in trackFaders.enumerated() {
      let gain = document.gain(ofTrack: index)
      let pan = isStereo[index] ? Float(document.tracks[index].pan) : 0
      for fader in faders {
        let balance: Float =
          switch fader.channel {
          case 0: min(1, 1 - pan)
          case 1: min(1, 1 + pan)
          default: 1
          }
        gains.append(gain * fader.share * balance)
      }
    }
    for (index, faders) in busFaders.enumerated() {
      let gain = document.gain(ofBus: index)
      for fader in faders { gains.append(gain * fader.share) }
    }
    for (bus, faders) in zip(sentBuses, sendFaders) {
      let gain = document.gain(ofBus: bus)
      for fader in faders { gains.append(gain * fader.share) }
    }
    return gains
  }

  /// Makes the wires behind the chains, each with its delay. Those that exist are crossfaded to another delay.
  func setDelays(_ document: SessionDocument) throws(HostError) {
    let all = trackFaders + busFaders + sendFaders
    let delays =
      document.tracks.map(\.delay) + document.buses.map(\.delay) + document.sends.map(\.delay)
    try graph.edit { wiring throws(HostError) in
      for (faders, delay) in zip(all, delays) {
        for fader in faders {
          try wiring.connect(
            fader.wire, through: fader.number, delayedBy: timeline.frames(of: delay))
        }
      }
    }
  }

  /// Whether a track's balance can change: it has two channels behind its chain.
  package func canPan(_ track: Int) -> Bool { isStereo[track] }

  /// Lets the sound of some tracks into their chains, or fades it out, all in one edit.
  func setOpen(_ tracks: [Int], _ isOpen: Bool) throws(HostError) {
    let wires = tracks.flatMap { entries[$0] }
    try graph.edit { wiring throws(HostError) in
      for wire in wires { try wiring.connect(wire, gain: isOpen ? 1 : 0) }
    }
  }

  // MARK: Plugins

  /// Returns the instances of the plugin at a path such as `tracks[1].chain[0]`.
  package func instances(at path: SessionPath) -> [(id: NodeID, plugin: any HostedPlugin)] {
    Self.instances(at: path, trackChains, busChains)
  }

  private static func instances(
    at path: SessionPath, _ trackChains: [PluginStages], _ busChains: [PluginStages]
  ) -> [(id: NodeID, plugin: any HostedPlugin)] {
    guard path.steps.count == 4, case .index(let owner) = path.steps[1],
      case .index(let index) = path.steps[3]
    else { return [] }
    let chains = path.steps[0] == .key("tracks") ? trackChains : busChains
    guard chains.indices.contains(owner), chains[owner].stages.indices.contains(index) else {
      return []
    }
    return chains[owner].stages[index]
  }

  func setBypass(_ path: SessionPath, _ on: Bool) throws(HostError) {
    for (id, _) in instances(at: path) { try graph.setBypassed(id, on) }
  }

  /// All instances.
  var plugins: [any HostedPlugin] {
    (trackChains + busChains).flatMap { $0.stages.joined().map(\.plugin) }
  }

  /// Latency in frames from the sources to the ports.
  package var latencyFrames: Int { (try? graph.latency(of: exit)) ?? 0 }
}
