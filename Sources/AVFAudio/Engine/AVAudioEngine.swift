import AudioToolbox
import AudioUnits
public import Foundation
package import Hardware
import Logging
import Music
import RealTime
import Server
import Synchronization
import System

/// A graph of nodes that plays, records and renders. Any thread that is not real-time.
///
/// Nodes are attached, connected, and rendered from the output back to the sources.
open class AVAudioEngine: NSObject, @unchecked Sendable {
  /// Held while nodes and connections change. An edit waits for renders, which may call a function of the app, but for no
  /// other function of the app.
  private let lock = NSRecursiveLock()
  let threads = EngineThreads()
  let manual = ManualRenderer()
  let live: LiveRenderer

  // Guarded by `lock`.
  private var nodes: [ObjectIdentifier: AVAudioNode] = [:]
  private(set) var connections: [Connection] = []
  var midiConnections: [MIDIConnection] = []
  private var output: AVAudioOutputNode?
  private var input: AVAudioInputNode?
  private var mixer: AVAudioMixerNode?
  /// The sequence of `musicSequence`.
  weak var sequence: EventSequence?

  /// Creates an engine without nodes, for the default JACK server.
  public override convenience init() {
    self.init(jackServerName: nil)
  }

  /// - Parameter device: No other engine has it.
  package init(device: HardwareDevice) {
    live = LiveRenderer(device)
    super.init()
    live.whenChanged { [weak self] in self?.cardChanged($0) }
    device.interior.set { [weak self] in self?.interior }
  }

  deinit {
    manual.end()
    live.end()
    // The nodes may belong to another engine later.
    for connection in connections { connection.cut() }
    disconnectMIDI { _ in true }
    for node in nodes.values { node.moved(to: nil) }
    threads.end()
  }

  /// Changes nodes and connections, one thread at a time.
  func edit<Result>(_ body: () -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body()
  }

  // MARK: Nodes

  /// The nodes that are attached.
  public var attachedNodes: Set<AVAudioNode> { edit { Set(nodes.values) } }

  /// Attaches a node. Ends the program if it is attached to another engine.
  public func attach(_ node: AVAudioNode) {
    node.awaitRelease()
    edit {
      if nodes[ObjectIdentifier(node)] != nil { return }
      if node.engine != nil {
        refuse("AVAudioEngine.attach: \(node) is attached to another engine")
      }
      nodes[ObjectIdentifier(node)] = node
      node.prepare(for: manual.current)
      do { try node.initialize() } catch {
        refuse("AVAudioEngine.attach: \(node) cannot render: \(error)")
      }
      node.moved(to: self)
    }
  }

  /// Removes a node and its connections. What an effect was connected to is connected with each other.
  public func detach(_ node: AVAudioNode) {
    edit {
      guard nodes[ObjectIdentifier(node)] != nil, node !== output, node !== input else { return }
      let before = (node as? AVAudioUnit)?.isEffect == true ? connections(to: node).first : nil
      let after = connections.filter { $0.source === node }
      disconnect { $0.source === node || $0.destination === node }
      disconnectMIDI { $0.source === node || $0.destination === node }
      if let before, !after.isEmpty {
        // The source keeps its other connections.
        add(
          after.map { ($0.destination, $0.input) }, to: before.source, before.output, before.format)
      }
      nodes[ObjectIdentifier(node)] = nil
      if node === mixer { mixer = nil }
    }
    node.moved(to: nil)
  }

  /// The node behind all others: what it gets is heard, or returned in manual rendering.
  public var outputNode: AVAudioOutputNode {
    edit {
      if let output { return output }
      let node = AVAudioOutputNode()
      output = node
      attach(node)
      node.setOutput(renderFormat.bus == nil ? .fallback : renderFormat)
      manual.setRoot(node.unit)
      return node
    }
  }

  /// The node that gives what is recorded, or in manual rendering what its function gives. Ask for it before
  /// `start`. What it is connected to has the rate of the sound card.
  public var inputNode: AVAudioInputNode {
    edit {
      if let input { return input }
      let node = AVAudioInputNode()
      input = node
      attach(node)
      let format = isInManualRenderingMode ? standardFormat : live.inputFormat
      node.setOutput(format.channelCount == 0 ? .fallback : format)
      return node
    }
  }

  /// The mixer before the output. It is made, and connected to the output, when it is first asked for.
  public var mainMixerNode: AVAudioMixerNode {
    edit {
      if let mixer { return mixer }
      let node = AVAudioMixerNode()
      mixer = node
      attach(node)
      connect(node, 0, [(outputNode, 0)], standardFormat, isOwn: true)
      return node
    }
  }

  /// The format of what is rendered in the end: that of the sound card, or of manual rendering. 0 Hz and no
  /// channels without a server.
  var renderFormat: AVAudioFormat {
    isInManualRenderingMode ? manualRenderingFormat : live.format
  }

  /// Returns true for the main mixer if it has the format of a sound card that is not there.
  func lacksCard(_ node: AVAudioNode) -> Bool {
    edit { connections.contains { $0.isOwn && $0.source === node } }
      && renderFormat.channelCount == 0
  }

  /// The standard format with the rate and the channels of `renderFormat`.
  var standardFormat: AVAudioFormat {
    let format = renderFormat
    return AVAudioFormat(rate: format.sampleRate, channels: Int(format.channelCount)) ?? .fallback
  }

  /// Gives the output, and the main mixer if the app has not connected it, the format of what is rendered in the end.
  func renderFormatChanged() {
    edit {
      let format = renderFormat.bus == nil ? .fallback : renderFormat
      if let output, (try? output.unit.bus(.output, 0).format) != format.bus {
        output.setOutput(format)
      }
      if let input, live.inputFormat.channelCount > 0, !isInManualRenderingMode,
        !isConnected(input)
      {
        input.setOutput(live.inputFormat)
      }
      let setup = manual.current
      for node in nodes.values {
        let isOther = node.unit.maximumFrames != Int(setup.maximumFrames)
        node.prepare(for: setup)
        if isOther { node.renewTaps() }
      }
      if let own = connections.first(where: { $0.isOwn }), own.format != standardFormat {
        connect(own.source, 0, [(own.destination, 0)], standardFormat, isOwn: true)
      }
    }
  }

  private func isConnected(_ source: AVAudioNode) -> Bool {
    connections.contains { $0.source === source }
  }

  // MARK: Connections

  /// Connects an output to an input. What both were connected to before is disconnected.
  ///
  /// Both get the format; nil stands for that of the output.
  public func connect(
    _ node1: AVAudioNode, to node2: AVAudioNode, fromBus bus1: AVAudioNodeBus,
    toBus bus2: AVAudioNodeBus, format: AVAudioFormat?
  ) {
    edit { connect(node1, bus1, [(node2, bus2)], format) }
  }

  /// Connects output 0 of a node to input 0 of another one; of a mixer, to the first input that is connected to
  /// nothing. What the output was connected to before is disconnected.
  public func connect(_ node1: AVAudioNode, to node2: AVAudioNode, format: AVAudioFormat?) {
    edit {
      check(node1, "connect")
      disconnect { $0.source === node1 && $0.output == 0 }
      let bus = (node2 as? any MixingNode)?.firstFreeInput ?? 0
      connect(node1, 0, [(node2, bus)], format)
    }
  }

  /// Connects an output to several inputs. What they were connected to before is disconnected.
  public func connect(
    _ sourceNode: AVAudioNode, to destNodes: [AVAudioConnectionPoint],
    fromBus sourceBus: AVAudioNodeBus, format: AVAudioFormat?
  ) {
    let points = destNodes.compactMap { point in point.node.map { ($0, point.bus) } }
    edit { connect(sourceNode, sourceBus, points, format) }
  }

  /// Ends the program if a node is not attached.
  func check(_ node: AVAudioNode, _ call: String) {
    if nodes[ObjectIdentifier(node)] == nil {
      refuse("AVAudioEngine.\(call): \(node) must be attached to the engine first")
    }
  }

  private func connect(
    _ source: AVAudioNode, _ bus: AVAudioNodeBus, _ points: [(AVAudioNode, AVAudioNodeBus)],
    _ format: AVAudioFormat?, isOwn: Bool = false
  ) {
    check(source, "connect")
    guard bus >= 0, bus < source.numberOfOutputs else {
      refuse("AVAudioEngine.connect: \(source) has no output \(bus)")
    }
    for (node, input) in points {
      check(node, "connect")
      if let mixer = node as? any MixingNode, input >= 0 {
        do { try mixer.mixer.provideInput(input) } catch {
          refuse("AVAudioEngine.connect: \(node) has no input \(input): \(error)")
        }
      }
      guard input >= 0, input < node.numberOfInputs else {
        refuse("AVAudioEngine.connect: \(node) has no input \(input)")
      }
      if comes(node, before: source) {
        refuse("AVAudioEngine.connect: \(node) comes before \(source)")
      }
    }
    disconnect { connection in
      connection.source === source && connection.output == bus
        || points.contains { $0.0 === connection.destination && $0.1 == connection.input }
    }
    var format = format ?? source.outputFormat(forBus: bus)
    if format.channelCount == 0 { format = .fallback }
    source.setOutput(format)
    alignMIDISource(of: source)
    add(points, to: source, bus, format, isOwn: isOwn)
  }

  /// Connects inputs that are connected to nothing to an output, which has the format.
  private func add(
    _ points: [(AVAudioNode, AVAudioNodeBus)], to source: AVAudioNode, _ bus: AVAudioNodeBus,
    _ format: AVAudioFormat, isOwn: Bool = false
  ) {
    for (node, input) in points {
      let connection = Connection(source, bus, node, input, format, isOwn: isOwn)
      connections.append(connection)
      connection.applySettings()
      connection.setFadesIn(live.isRunning)
      node.setInput(format, bus: input)
      let inlet = node.inlet(input)
      do { try inlet.unit.connect(source.unit, output: UInt32(bus), to: inlet.bus) } catch {
        refuse("AVAudioEngine.connect: \(source) cannot be connected to \(node): \(error)")
      }
    }
    if live.isRunning, !live.hasRoot, hasOutput {
      do { try live.restart(outputNode.unit, recordingFor: input?.unit) } catch {
        log.error("AVAudioEngine.connect: the engine has stopped: \(error)")
      }
    }
    updateSidePull()
  }

  /// True if something is connected to the output node.
  private var hasOutput: Bool { connections.contains { $0.destination === output } }

  /// Returns true if the sound or the MIDI of a node goes to another one, or they are the same.
  func comes(_ first: AVAudioNode, before last: AVAudioNode) -> Bool {
    let audio = Dictionary(grouping: connections) { ObjectIdentifier($0.destination) }
    let midi = Dictionary(grouping: midiConnections) { ObjectIdentifier($0.destination) }
    return sourcesFirst([last]) { node in
      (audio[ObjectIdentifier(node)]?.map(\.source) ?? [])
        + (midi[ObjectIdentifier(node)]?.map(\.source) ?? [])
    }.contains { $0 === first }
  }

  /// Disconnects what an input is connected to.
  public func disconnectNodeInput(_ node: AVAudioNode, bus: AVAudioNodeBus) {
    edit { disconnect { $0.destination === node && $0.input == bus } }
  }

  /// Disconnects what all inputs of a node are connected to.
  public func disconnectNodeInput(_ node: AVAudioNode) {
    edit { disconnect { $0.destination === node } }
  }

  /// Disconnects what an output is connected to.
  public func disconnectNodeOutput(_ node: AVAudioNode, bus: AVAudioNodeBus) {
    edit { disconnect { $0.source === node && $0.output == bus } }
  }

  /// Disconnects what all outputs of a node are connected to.
  public func disconnectNodeOutput(_ node: AVAudioNode) {
    edit { disconnect { $0.source === node } }
  }

  /// Removes connections. While the engine plays, their sound fades out before.
  private func disconnect(_ isMeant: (Connection) -> Bool) {
    let meant = connections.filter(isMeant)
    if meant.isEmpty { return }
    for connection in meant { connection.fade(out: true) }
    live.awaitRenders()
    defer { for connection in meant { connection.fade(out: false) } }
    for connection in meant { connection.cut() }
    connections.removeAll(where: isMeant)
    updateSidePull()
  }

  /// Returns the output that an input is connected to; nil if there is none.
  public func inputConnectionPoint(
    for node: AVAudioNode, inputBus bus: AVAudioNodeBus
  ) -> AVAudioConnectionPoint? {
    connections(to: node).first { $0.input == bus }
      .map { AVAudioConnectionPoint(node: $0.source, bus: $0.output) }
  }

  /// Returns the inputs that an output is connected to.
  public func outputConnectionPoints(
    for node: AVAudioNode, outputBus bus: AVAudioNodeBus
  ) -> [AVAudioConnectionPoint] {
    edit { connections.filter { $0.source === node && $0.output == bus } }
      .map { AVAudioConnectionPoint(node: $0.destination, bus: $0.input) }
  }

  func connections(to node: AVAudioNode) -> [Connection] {
    edit { connections.filter { $0.destination === node } }
  }

  /// Returns true if the sound or the MIDI of a node goes to the output, or it is an input of the engine.
  func reaches(_ node: AVAudioNode) -> Bool {
    edit { output.map { comes(node, before: $0) } ?? false || node === input }
  }

  // MARK: Running

  /// True from `start` until `pause` or `stop`.
  public var isRunning: Bool { manual.isRunning || live.isRunning }

  /// Prepares what rendering needs. `start` does that, too.
  public func prepare() {
    _ = outputNode
    if isInManualRenderingMode { return }
    live.look()
    renderFormatChanged()
  }

  /// Starts rendering: in a JACK client of the engine's own, named after the program, or by hand. Players and their
  /// clocks go on where they were before `pause`, and keep what is scheduled.
  ///
  /// - Throws: -10875 if the server cannot be used, with the reason; -10868 if the input node is connected with another rate
  ///   than the sound card's.
  public func start() throws {
    prepare()
    if isRunning { return }
    for node in attachedNodes { unsafe node.unit.render.pointee.clearTime() }
    if isInManualRenderingMode { return manual.start() }
    let (plays, input, records) = edit {
      (hasOutput, self.input, self.input.map(isConnected) ?? false)
    }
    if let input, records, live.inputFormat.channelCount > 0,
      input.outputFormat(forBus: 0).sampleRate != live.inputFormat.sampleRate
    {
      throw NSError(
        NSError.avfaudio, kAudioUnitErr_FormatNotSupported,
        "AVAudioEngine.start: the input node is connected with \(input.outputFormat(forBus: 0)), the sound card has \(live.inputFormat)"
      )
    }
    do {
      try live.start(
        plays || input == nil ? outputNode.unit : nil, recordingFor: input?.unit)
      updateSidePull()
    } catch {
      throw NSError(
        NSError.avfaudio, kAudioUnitErr_FailedInitialization,
        "AVAudioEngine.start: the JACK server cannot be used: \(error)")
    }
  }

  /// Tells the device which nodes to render besides the output: sinks, and the input for its taps alone.
  func updateSidePull() {
    guard live.isRunning else { return }
    let items = edit {
      var items = connections.compactMap { ($0.destination as? AVAudioSinkNode)?.pulled }
      if let input, input.hasTaps,
        !live.hasRoot || output.map({ !comes(input, before: $0) }) ?? true
      {
        unsafe items.append(SidePull.Item(input.unit))
      }
      return items
    }
    live.setSidePull(items)
  }

  /// Holds rendering, and the clocks of players, until `start`.
  public func pause() {
    manual.stop()
    live.stop()
  }

  /// Ends rendering, and the clocks of players. They keep what is scheduled, and go on with it when they are
  /// played again.
  public func stop() {
    pause()
    haltPlayers()
  }

  private func haltPlayers() {
    for player in players { player.player.halt() }
  }

  /// Resets all nodes: players lose what is scheduled, and filters and converters earlier sound. In manual
  /// rendering, the time begins anew.
  public func reset() {
    for node in attachedNodes { node.reset() }
    manual.resetTime()
  }

  /// Tells the app that the sound card has changed, is gone or is back. The engine does not run then.
  private func cardChanged(_ tellsApp: Bool) {
    if !isInManualRenderingMode { renderFormatChanged() }
    if !tellsApp { return }
    haltPlayers()
    NotificationCenter.default.post(name: .AVAudioEngineConfigurationChange, object: self)
  }

  var players: [AVAudioPlayerNode] { edit { nodes.values.compactMap { $0 as? AVAudioPlayerNode } } }

  // MARK: Latency

  /// Seconds from the output node to the moment when it is heard; 0 in manual rendering.
  var presentationLatency: TimeInterval { isInManualRenderingMode ? 0 : live.latencies.output }

  /// Seconds from a node's output to the moment when it is heard.
  func latency(behind node: AVAudioNode) -> TimeInterval {
    edit {
      var (node, seconds) = (node, 0.0)
      while node !== output,
        let next = connections.first(where: { $0.source === node })?.destination
      {
        seconds += next.latency
        node = next
      }
      return node === output ? seconds + presentationLatency : seconds
    }
  }
}

extension NSNotification.Name {
  /// Posted when the rate or the channels of the sound card have changed while the engine ran, or the server has gone, and
  /// once more when that is back. The engine has stopped, and its nodes are connected as they were: `start` lets it go
  /// on. Posted on a thread of the library; the object is the engine.
  public static let AVAudioEngineConfigurationChange = NSNotification.Name(
    "AVAudioEngineConfigurationChange")
}
