import System

/// The check of scenes and automation.
extension SessionCheck {
  /// Finds what a scene or curve sets, and adds the faults of the path and the values.
  ///
  /// - Parameters:
  ///   - text: The path as it is written, which stands at `path` of the document.
  ///   - values: The values, whose paths `place` returns.
  private static func target(
    _ text: String, at path: SessionPath, _ values: some Sequence<SessionSetting>,
    _ place: (Int) -> SessionPath, _ targets: SessionTargets, _ near: inout NearNames,
    _ faults: inout [SessionFault]
  ) -> SessionTarget? {
    do throws(SessionError) {
      let written = try SessionPath(text)
      guard let target = targets.target(at: written) else {
        _ = try targets.shape(at: written, &near)
        faults.append(
          SessionFault(
            .error, path, "scenes and curves set \(SessionTarget.words), and \(written) is none"))
        return nil
      }
      let shape = target.shape
      var found = SessionFaults()
      for (number, value) in values.enumerated() {
        var single = SessionFaults()
        shape.check(value.json, at: .root, &single)
        for fault in single.list { found.append(fault.behind(place(number))) }
      }
      faults += found.list
      return target
    } catch {
      faults.append(SessionFault(.error, path, error.description))
      return nil
    }
  }

  /// Adds the faults of the automation.
  ///
  /// - Returns: The curves, as messages name them, by what they move.
  static func checkCurves(
    _ document: SessionDocument, _ targets: SessionTargets, _ near: inout NearNames,
    _ faults: inout [SessionFault]
  ) -> [SessionTarget: String] {
    var automated: [SessionTarget: String] = [:]
    let rate = document.sampleRate ?? 48000
    for (index, curve) in document.automation.enumerated() {
      let path = SessionPath([.key("automation"), .index(index)])
      let points = path.appending(key: "points")
      func place(_ number: Int) -> SessionPath { points.appending(index: number) }
      if curve.points.isEmpty {
        faults.append(SessionFault(.error, points, "a curve needs a point"))
      }
      var last = 0.0
      for (number, point) in curve.points.enumerated() {
        let seconds = point.at.seconds(sampleRate: rate, tempo: document.transport)
        if seconds < last {
          faults.append(
            SessionFault(
              .error, place(number).appending(key: "at"), "it is before points[\(number - 1)]"))
          break
        }
        last = seconds
      }
      let target = target(
        curve.target, at: path.appending(key: "target"), curve.points.lazy.map(\.value),
        { place($0).appending(key: "value") }, targets, &near, &faults)
      guard let target else { continue }
      if case .control(_, let name) = target.value, name.contains(":") {
        faults.append(
          SessionFault(
            .error, path.appending(key: "target"),
            "a curve moves controls of plugins, and \(name) is a parameter with a URI"))
      }
      if let other = automated[target] {
        faults.append(
          SessionFault(.error, path.appending(key: "target"), "\(other) moves this value"))
      } else {
        automated[target] = "\(path)"
      }
    }
    return automated
  }

  /// Adds the faults of the scenes.
  ///
  /// - Parameter automated: The curves by what they move.
  static func checkScenes(
    _ document: SessionDocument, _ targets: SessionTargets, _ automated: [SessionTarget: String],
    _ near: inout NearNames, _ faults: inout [SessionFault]
  ) {
    var programs: [(program: SessionMIDINumber, scene: String)] = []
    for scene in document.scenes {
      let path = SessionPath([.key("scenes"), .name(scene.name)])
      if let program = scene.program {
        let other = programs.first {
          $0.program.number == program.number
            && ($0.program.channel ?? program.channel) == (program.channel ?? $0.program.channel)
        }
        if let other {
          faults.append(
            SessionFault(
              .error, path.appending(key: "program"),
              "the scene “\(other.scene)” has this program, too"))
        }
        programs.append((program, scene.name))
      }
      var known: [SessionTarget: String] = [:]
      for (text, value) in scene.values.sorted(by: { $0.key < $1.key }) {
        let path = path.appending(key: "values").appending(name: text)
        let target = target(
          text, at: path, CollectionOfOne(value), { _ in path }, targets, &near, &faults)
        guard let target else { continue }
        if let curve = automated[target] {
          faults.append(
            SessionFault(.warning, path, "\(curve) moves this value, and the scene leaves it"))
        }
        if let other = known.updateValue(text, forKey: target) {
          faults.append(SessionFault(.error, path, "\(other) is the same value"))
        }
      }
    }
  }

  /// Returns the faults of what scenes and curves give plugins: there is no such control, or the value is out of its
  /// range.
  ///
  /// - Parameter check: Returns the faults of a plugin, as `plugin` does.
  static func pluginValues(
    of document: SessionDocument, _ check: (SessionPlugin) -> [SessionFault]
  ) -> [SessionFault] {
    let targets = SessionTargets(document)
    var faults = SessionFaults()
    func add(_ text: String, _ value: SessionSetting, _ path: SessionPath) {
      guard let target = targets.target(written: text), let plugin = document.plugin(of: target),
        case .control(_, let name) = target.value
      else { return }
      var single = plugin
      single.parameters = [name: value.number]
      let parameter = SessionPath([.key("parameters")]).appending(name: name)
      for fault in check(single) where fault.path == parameter {
        faults.append(SessionFault(fault.severity, path, fault.message))
      }
    }
    for scene in document.scenes {
      let path = SessionPath([.key("scenes"), .name(scene.name), .key("values")])
      for (text, value) in scene.values.sorted(by: { $0.key < $1.key }) {
        add(text, value, path.appending(name: text))
      }
    }
    for (index, curve) in document.automation.enumerated() {
      let path = SessionPath([.key("automation"), .index(index), .key("points")])
      // All other values are between the lowest and the highest one.
      let points = curve.points.enumerated()
      let ends = [
        points.min { $0.element.value.number < $1.element.value.number },
        points.max { $0.element.value.number < $1.element.value.number },
      ]
      for (number, point) in ends.compactMap(\.self) {
        add(curve.target, point.value, path.appending(index: number).appending(key: "value"))
      }
    }
    return faults.list
  }
}

extension SessionDocument {
  /// Returns the plugin of a target; nil if the target is none of a plugin.
  func plugin(of target: SessionTarget) -> SessionPlugin? {
    guard case .control(let plugin, _) = target.value else { return nil }
    return (target.isTrack ? tracks[target.owner].chain : buses[target.owner].chain)[plugin]
  }
}
