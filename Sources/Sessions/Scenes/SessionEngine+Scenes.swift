import Graph
import PluginHost
import Server
import Synchronization
import Timeline

/// Scenes and automation of a running session.
extension SessionEngine {
  /// The first frame of the cycle in which a recall takes effect: all its changes are known by then.
  var recallFrame: Int64 {
    let period = Int64(device.periodFrames)
    let lead = Int64(held: plan.timeline.sampleRate / 100)
    return device.latestFrame + (2 + (lead + period - 1) / period) * period
  }

  /// Returns a scene without the values that curves move.
  package func recallable(_ scene: SessionScene) -> SessionScene {
    var scene = scene
    let targets = SessionTargets(document)
    scene.values = scene.values.filter { text, _ in
      targets.target(written: text).map { session.automation[$0] == nil } ?? true
    }
    return scene
  }

  /// Returns the values that a scene gives controls of plugins.
  func controls(of scene: SessionScene, in document: SessionDocument) -> [(
    target: SessionTarget, value: Double
  )] {
    let targets = SessionTargets(document)
    return scene.values.compactMap { text, value in
      guard let target = targets.target(written: text), target.pluginPath != nil else { return nil }
      return (target, value.number)
    }
  }

  /// Returns the value that a curve has at present; nil if none moves the value at a path with indices.
  package func automated(_ path: SessionPath) -> Double? {
    session.automation[path].map { $0.value(at: position(ofGroup: $0.course)) }
  }

  /// Returns the present values of gains, balances, mutes and controls of plugins that no curve moves, by their paths.
  package func presentValues() -> [String: SessionSetting] {
    let document = document
    var values: [String: SessionSetting] = [:]
    func add(_ isTrack: Bool, _ owner: Int, _ name: String, _ chain: [SessionPlugin]) {
      let list = SessionPath([.key(isTrack ? "tracks" : "buses")])
      func add(_ value: SessionTarget.Value, _ path: SessionPath) {
        let target = SessionTarget(isTrack: isTrack, owner: owner, value: value)
        if session.automation[target] == nil {
          values[path.description] = setting(of: target, in: document)
        }
      }
      let path = SessionPath(list.steps + [.name(name)])
      add(.gain, path.appending(key: "gain"))
      add(.mute, path.appending(key: "mute"))
      if isTrack, session.canPan(owner) { add(.pan, path.appending(key: "pan")) }
      for (index, plugin) in chain.enumerated() {
        let place = SessionPath(path.steps + [.key("chain"), .name(plugin.id), .key("parameters")])
        let chain = SessionPath(list.steps + [.index(owner), .key("chain"), .index(index)])
        let controls = session.instances(at: chain).first?.plugin.settableControls ?? []
        for name in Set(controls).union(plugin.parameters.keys) {
          add(.control(plugin: index, name: name), place.appending(name: name))
        }
      }
    }
    for (index, track) in document.tracks.enumerated() { add(true, index, track.name, track.chain) }
    for (index, bus) in document.buses.enumerated() { add(false, index, bus.name, bus.chain) }
    return values
  }

  /// Returns the present values of what a scene sets.
  package func presentValues(of scene: SessionScene) -> [String: SessionSetting] {
    let document = document
    let targets = SessionTargets(document)
    return Dictionary(
      uniqueKeysWithValues: scene.values.map { text, value in
        let target = targets.target(written: text)
        return (text, target.flatMap { setting(of: $0, in: document) } ?? value)
      })
  }

  /// Returns the present value of a target. A MIDI controller may have moved a plugin's control since it was set.
  private func setting(of target: SessionTarget, in document: SessionDocument) -> SessionSetting? {
    if case .control(_, let name) = target.value, let path = target.pluginPath,
      let value = try? session.instances(at: path).first?.plugin.value(of: name)
    {
      // A float's decimal digits, not its double's.
      return .number(Double("\(value)") ?? Double(value))
    }
    return document.setting(of: target)
  }
}

extension HostedPlugin {
  /// The symbols of controls that keep what they are set to.
  fileprivate var settableControls: [String] {
    description.ports.filter {
      $0.kind == .control && $0.direction == .input && !$0.isTrigger && $0.designation == nil
    }.map(\.symbol)
  }

  /// Sets a control or parameter at a device frame: over some frames if its values are continuous, else in a step.
  func recall(_ name: String, _ value: Double, at frame: Int64, over frames: Int)
    throws(HostError)
  {
    let port = description.port(name)
    let isStepped = port.map { $0.isToggled || $0.isInteger || $0.isEnumeration } ?? true
    try set(name, numeric: value, at: frame, over: isStepped ? 0 : frames)
  }
}
