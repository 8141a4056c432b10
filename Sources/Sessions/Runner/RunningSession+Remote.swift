import Glibc
import Graph
import PluginHost
import Server
import Synchronization

/// Remote control of a running session: the addresses of `RemoteNode`, which the document's values stand
/// behind.
extension RunningSession: RemoteTarget {
  package var remoteVersion: Int { version.load(ordering: .relaxed) }

  package var remoteNodes: [RemoteNode] {
    guard let engine else { return [] }
    let document = engine.document
    var nodes = RemoteNode.session
    for (index, track) in document.tracks.enumerated() {
      let channels = engine.plan.tracks[index].facts.channels
      nodes += RemoteNode.track(index + 1, channels: channels, gains: -120...24)
      for (number, _) in track.chain.enumerated() {
        nodes += Self.controls(engine, track: index, plugin: number).map(\.node)
      }
    }
    for group in document.groups {
      if case .osc(let address) = group.trigger {
        nodes.append(
          RemoteNode(
            address: address, .action, types: "", lowest: nil, highest: nil, unit: nil,
            summary: "start the group \(group.name)"))
      }
    }
    var seen: Set<String> = []
    return nodes.filter { seen.insert($0.address).inserted }
  }

  /// The nodes of a plugin's controls, with their symbols.
  private static func controls(_ engine: SessionEngine, track: Int, plugin number: Int)
    -> [(node: RemoteNode, symbol: String, plugin: any HostedPlugin)]
  {
    let stages = engine.session.trackChains[track].stages
    guard stages.indices.contains(number), let plugin = stages[number].first?.plugin else {
      return []
    }
    let rate = engine.plan.timeline.sampleRate
    return plugin.description.ports.filter { $0.kind == .control && $0.direction == .input }.map {
      let range = $0.range(sampleRate: rate)
      var bounds: ClosedRange<Double>?
      if let low = range.minimum, let high = range.maximum, low <= high {
        bounds = Double(low)...Double(high)
      }
      return (
        RemoteNode.control(
          $0.symbol, ofPlugin: number + 1, inTrack: track + 1, range: bounds,
          unit: $0.unit?.symbol, name: $0.name), $0.symbol, plugin
      )
    }
  }

  /// The parts of an address behind the root.
  private static func parts(of address: String) -> [String] {
    guard address.hasPrefix(RemoteNode.root + "/") else { return [] }
    return address.dropFirst(RemoteNode.root.count + 1).split(separator: "/").map(String.init)
  }

  /// Returns what an address says of a track: its index, and the rest.
  private static func track(_ parts: [String], _ document: SessionDocument) -> (Int, [String])? {
    guard parts.count > 2, parts[0] == "tracks", let number = Int(parts[1]),
      document.tracks.indices.contains(number - 1)
    else { return nil }
    return (number - 1, Array(parts[2...]))
  }

  package func remoteValues(at address: String) -> [OSCValue]? {
    guard let engine else { return nil }
    let parts = Self.parts(of: address)
    let document = engine.document
    switch parts {
    case ["running"]: return [.bool(engine.isPlaying)]
    case ["dirty"]: return [.bool(hasEdits)]
    case ["position"]: return [.double(position)]
    case ["load"]: return [.float(engine.device.client.load)]
    case ["xruns"]: return [.int(Int32(clamping: engine.device.xruns))]
    default: break
    }
    guard let (index, rest) = Self.track(parts, document) else { return nil }
    let track = document.tracks[index]
    switch rest {
    case ["name"]: return [.string(track.name)]
    case ["gain"]: return [.float(Float(track.volume))]
    case ["mute"]: return [.bool(track.mute)]
    case ["solo"]: return [.bool(track.solo)]
    case ["peak"]:
      let channels = engine.plan.tracks[index].facts.channels
      let peaks = trackPeaks
      return (0..<channels).map { channel in
        let peak =
          peaks.indices.contains(index) && peaks[index].indices.contains(channel)
          ? peaks[index][channel] : 0
        return .float(peak > 0 ? max(-120, 20 * log10(peak)) : -120)
      }
    default: break
    }
    guard rest.count == 3, rest[0] == "plugins", let number = Int(rest[1]), number > 0,
      let control = Self.controls(engine, track: index, plugin: number - 1)
        .first(where: { $0.node.address == address })
    else { return nil }
    return (try? control.plugin.value(of: control.symbol)).map { [.float($0)] }
  }

  package func setRemote(_ address: String, to values: [OSCValue]) throws(RemoteError) {
    guard let engine, let value = values.first,
      let (index, rest) = Self.track(Self.parts(of: address), engine.document)
    else { throw .refused(address, "the session has no such address") }
    let path = SessionPath([.key("tracks"), .index(index)])
    let edit: SessionEdit
    switch (rest, value) {
    case (["gain"], _): edit = .set(path.appending(key: "volume"), Self.json(value))
    case (["mute"], _): edit = .set(path.appending(key: "mute"), Self.json(value))
    case (["solo"], _): edit = .set(path.appending(key: "solo"), Self.json(value))
    default:
      guard rest.count == 3, rest[0] == "plugins", let number = Int(rest[1]), number > 0,
        let control = Self.controls(engine, track: index, plugin: number - 1)
          .first(where: { $0.node.address == address })
      else { throw .refused(address, "the session has no such address") }
      edit = .set(
        path.appending(key: "chain").appending(index: number - 1).appending(key: "parameters")
          .appending(name: control.symbol), Self.json(value))
    }
    try remotely(address) { session throws(SessionRunError) in try session.apply(edit) }
  }

  private static func json(_ value: OSCValue) -> JSONValue {
    if case .bool(let flag) = value { return .flag(flag) }
    // A float's decimal digits, not its double's.
    if case .float(let number) = value { return JSONValue(Double("\(number)") ?? Double(number)) }
    return JSONValue(value.number ?? 0)
  }

  package func perform(_ address: String, _ arguments: [OSCValue]) throws(RemoteError) {
    let number = arguments.first?.number ?? 0
    let parts = Self.parts(of: address)
    try remotely(address) { session throws(SessionRunError) in
      switch parts {
      case ["start"]: try session.start()
      case ["stop"]: try session.stop()
      case ["pause"]: try session.pause()
      case ["next"]: try session.next()
      case ["locate"]: try session.locate(to: number)
      case ["save"]: try session.save()
      default:
        let engine = try session.running()
        let groups = engine.groups(triggeredBy: address)
        if groups.isEmpty { throw .refused("the session has no such address") }
        try engine.start(groups)
      }
    }
  }

  /// Seconds for which an answer waits until the session has done what was asked.
  private static let patience = 1.5

  private func remotely(
    _ address: String,
    _ body: @escaping @Sendable (RunningSession) throws(SessionRunError) -> Void
  ) throws(RemoteError) {
    do throws(SessionRunError) {
      try perform(patience: Self.patience, body)
    } catch {
      throw .refused(address, "\(error)")
    }
  }
}
