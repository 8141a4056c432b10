import Graph
import RealTime

/// The curves of a session by the values that they move, at a device's sample rate. A value.
struct SessionAutomation: Sendable {
  private var curves: [SessionTarget: GraphCurve] = [:]
  private var paths: [SessionPath: GraphCurve] = [:]

  /// - Parameter groups: The tracks of each group: a track's curves follow its group. Those of buses follow the first one.
  init(_ document: SessionDocument, _ timeline: SessionTimescale, groups: [[Int]]) {
    guard !document.automation.isEmpty else { return }
    let targets = SessionTargets(document)
    var courses: [Int: Int] = [:]
    for (number, tracks) in groups.enumerated() { for track in tracks { courses[track] = number } }
    for curve in document.automation where !curve.points.isEmpty {
      guard let target = targets.target(written: curve.target) else { continue }
      curves[target] = GraphCurve(
        curve.points.map { CurvePoint(frame: timeline.frame(of: $0.at), value: $0.value.number) },
        isStepped: curve.line == .step || target.value == .mute,
        course: target.isTrack ? courses[target.owner] ?? 0 : 0)
      paths[target.path] = curves[target]
    }
  }

  var targets: [SessionTarget] { Array(curves.keys) }

  subscript(target: SessionTarget) -> GraphCurve? { curves[target] }
  /// The curve of the value at a path with indices.
  subscript(path: SessionPath) -> GraphCurve? { paths[path] }

  /// Returns the curves of the gain, balance and mute of a track or bus, for one of its channels.
  ///
  /// - Parameter isStereo: Whether the balance concerns the channel.
  func gains(isTrack: Bool, _ owner: Int, channel: Int, isStereo: Bool)
    -> [(kind: GainCurve.Kind, curve: GraphCurve)]
  {
    func curve(_ value: SessionTarget.Value) -> GraphCurve? {
      curves[SessionTarget(isTrack: isTrack, owner: owner, value: value)]
    }
    var gains: [(GainCurve.Kind, GraphCurve)] = []
    if let curve = curve(.gain) { gains.append((.decibels, curve)) }
    if let curve = curve(.mute) { gains.append((.mute, curve)) }
    if let curve = curve(.pan), isStereo, channel < 2 {
      gains.append((channel == 0 ? .left : .right, curve))
    }
    return gains
  }

  /// Returns the document with the neutral value of each gain, balance and mute that a curve moves.
  func neutral(_ document: SessionDocument) -> SessionDocument {
    var document = document
    for target in curves.keys {
      switch (target.value, target.isTrack) {
      case (.gain, true): document.tracks[target.owner].volume = 0
      case (.gain, false): document.buses[target.owner].gain = 0
      case (.mute, true): document.tracks[target.owner].mute = false
      case (.mute, false): document.buses[target.owner].mute = false
      case (.pan, _): document.tracks[target.owner].pan = 0
      case (.control, _): break
      }
    }
    return document
  }
}

extension SessionDocument {
  /// Returns the value of a target; nil for a parameter that the document does not give.
  package func setting(of target: SessionTarget) -> SessionSetting? {
    switch (target.value, target.isTrack) {
    case (.gain, true): .number(tracks[target.owner].volume)
    case (.gain, false): .number(buses[target.owner].gain)
    case (.mute, true): .flag(tracks[target.owner].mute)
    case (.mute, false): .flag(buses[target.owner].mute)
    case (.pan, _): .number(tracks[target.owner].pan)
    case (.control(_, let name), _):
      plugin(of: target)?.parameters[name].map { .number($0) }
    }
  }
}
