import System

/// A check of everything in a document that the form of single values does not show: names,
/// references, files, plugins and formats.
package struct SessionCheck {
  /// The state of a file that a session uses.
  package enum File: Sendable {
    case present
    case missing
    /// It exists but cannot be used, for this reason.
    case unusable(String)
  }

  /// Looks at a sound file by its path in the document; nil to look at none.
  package var sound: ((String) -> File)?
  /// Looks at a SoundFont by its path in the document; nil to look at none.
  package var soundFont: ((String) -> File)?
  /// Looks for the folder of a plugin's state by its path in the document; nil to look for none.
  package var state: ((String) -> File)?
  /// Returns the faults of a plugin, with paths that begin at it, such as `uri`. Nil to ask for no
  /// plugin.
  package var plugin: ((SessionPlugin) -> [SessionFault])?
  /// Returns why a recording's format cannot be written, or nil if it can. Nil to check no format.
  package var format: ((SessionRecording) -> String?)?

  package init() {}

  /// Returns all faults, errors and warnings, in the order of the document.
  package func faults(of document: SessionDocument) -> [SessionFault] {
    var faults = Self.references(of: document)
    checkFiles(document, &faults)
    if let plugin {
      for (path, item) in document.plugins {
        faults += plugin(item).map { $0.behind(path) }
      }
      faults += Self.pluginValues(of: document, plugin)
    }
    if let format {
      for (index, recording) in document.recordings.enumerated() {
        if let reason = format(recording) {
          faults.append(
            SessionFault(.error, SessionPath([.key("recordings"), .index(index)]), reason))
        }
      }
    }
    return faults
  }

  private func checkFiles(_ document: SessionDocument, _ faults: inout [SessionFault]) {
    func check(
      _ found: File, _ name: String, _ path: SessionPath, ifMissing severity: SessionFault.Severity
    ) {
      switch found {
      case .present: break
      case .missing: faults.append(SessionFault(severity, path, "there is no \(name)"))
      case .unusable(let reason): faults.append(SessionFault(.error, path, "\(name): \(reason)"))
      }
    }
    for (index, track) in document.tracks.enumerated() {
      let path = SessionPath([.key("tracks"), .index(index), .key("file")])
      for (number, name) in track.files.enumerated() {
        guard let sound else { break }
        // The session runs, and the track is silent.
        check(
          sound(name), name, track.files.count > 1 ? path.appending(index: number) : path,
          ifMissing: .warning)
      }
    }
    for (path, name) in document.soundFonts {
      guard let soundFont else { break }
      check(soundFont(name), name, path, ifMissing: .error)
    }
    for (path, name) in document.impulses {
      guard let sound else { break }
      check(sound(name), name, path, ifMissing: .error)
    }
    for (path, plugin) in document.plugins {
      guard let name = plugin.state, let state else { continue }
      check(state(name), name, path.appending(key: "state"), ifMissing: .error)
    }
  }

  // MARK: References

  /// Returns the faults of names and references: doubled names and ids, buses and tracks that do
  /// not exist, cycles of buses, targets of controllers, and fields that contradict each other.
  package static func references(of document: SessionDocument) -> [SessionFault] {
    var faults: [SessionFault] = []
    let lists: [(String, [String])] = [
      ("tracks", document.tracks.map(\.name)), ("buses", document.buses.map(\.name)),
      ("sends", document.sends.map(\.name)),
      ("recordings", document.recordings.map(\.name)), ("groups", document.groups.map(\.name)),
      ("scenes", document.scenes.map(\.name)),
    ]
    for (list, names) in lists {
      checkUnique(
        names.enumerated().map { (SessionPath([.key(list), .index($0), .key("name")]), $1) },
        &faults)
    }
    checkUnique(document.plugins.map { ($0.path.appending(key: "id"), $0.plugin.id) }, &faults)
    checkUnique(
      document.plugins.map { ($0.path.appending(key: "state"), $0.plugin.stateFolder) }, &faults)
    checkUnique(
      document.recordings.enumerated().map {
        (SessionPath([.key("recordings"), .index($0), .key("file")]), $1.file)
      }, &faults)
    var near = NearNames()
    checkBuses(document, &near, &faults)
    checkTracks(document, &faults)
    checkGroups(document, &near, &faults)
    let targets = SessionTargets(document)
    checkControllers(document, targets, &near, &faults)
    let automated = checkCurves(document, targets, &near, &faults)
    checkScenes(document, targets, automated, &near, &faults)
    for (index, mapping) in document.controllers.enumerated() {
      let path = SessionPath([.key("controllers"), .index(index), .key("target")])
      if let curve = targets.target(written: mapping.target).flatMap({ automated[$0] }) {
        faults.append(SessionFault(.error, path, "\(curve) moves this value"))
      }
    }
    checkConnections(document, &faults)
    return faults
  }

  private static func checkUnique(
    _ names: [(path: SessionPath, name: String)], _ faults: inout [SessionFault]
  ) {
    var first: [Name: SessionPath] = [:]
    for (path, name) in names {
      if let other = first[Name(name)] {
        faults.append(SessionFault(.error, path, "“\(name)” is there twice: \(other) has it, too"))
      } else {
        first[Name(name)] = path
      }
    }
  }

  private static func checkBuses(
    _ document: SessionDocument, _ near: inout NearNames, _ faults: inout [SessionFault]
  ) {
    let names = document.buses.map(\.name)
    let known = Set(names.map(Name.init))
    func check(_ bus: String, _ path: SessionPath) {
      if known.contains(Name(bus)) { return }
      let near = near.question(bus, in: names)
      faults.append(
        SessionFault(.error, path.appending(key: "bus"), "there is no bus “\(bus)”\(near)"))
    }
    func check(_ bus: String?, _ ports: [String]?, _ path: SessionPath) {
      guard let bus else { return }
      check(bus, path)
      if ports?.isEmpty == false {
        faults.append(
          SessionFault(
            .error, path.appending(key: "ports"),
            "it goes to the bus “\(bus)” and has no JACK ports of its own to connect"))
      }
    }
    for (index, track) in document.tracks.enumerated() {
      check(track.bus, track.ports, SessionPath([.key("tracks"), .index(index)]))
    }
    for (index, send) in document.sends.enumerated() {
      check(send.bus, SessionPath([.key("sends"), .index(index)]))
    }
    let outputs = Dictionary(
      document.buses.map { (Name($0.name), $0.bus.map(Name.init)) },
      uniquingKeysWith: { first, _ in first })
    var told: Set<Name> = []
    for (index, bus) in document.buses.enumerated() {
      let path = SessionPath([.key("buses"), .index(index)])
      check(bus.bus, bus.ports, path)
      let own = Name(bus.name)
      var walk = [own]
      while let next = outputs[walk[walk.count - 1]] ?? nil, walk.count <= names.count {
        walk.append(next)
        if next == own { break }
      }
      // Each cycle is reported once, at its first bus.
      if walk.count > 1, walk.last == own, !told.contains(own) {
        told.formUnion(walk)
        faults.append(
          SessionFault(
            .error, path.appending(key: "bus"),
            "the buses feed each other in a cycle: \(walk.map(\.text).joined(separator: " -> "))"))
      }
    }
  }

  private static func checkTracks(_ document: SessionDocument, _ faults: inout [SessionFault]) {
    for (index, track) in document.tracks.enumerated() {
      let path = SessionPath([.key("tracks"), .index(index)])
      guard let end = track.trimEnd else { continue }
      if end <= track.trimStart {
        faults.append(
          SessionFault(
            .error, path.appending(key: "trimEnd"),
            "\(plain(end)) seconds is not after trimStart, \(plain(track.trimStart)) seconds"))
      } else if track.fadeIn + track.fadeOut > (end - track.trimStart) / track.rate {
        faults.append(
          SessionFault(
            .warning, path.appending(key: "fadeOut"),
            "the fades are longer than the \(plain(end - track.trimStart)) seconds that play"))
      }
    }
    let played = Dictionary(
      document.tracks.flatMap { track in track.files.map { (Name($0), track.name) } },
      uniquingKeysWith: { first, _ in first })
    for (index, recording) in document.recordings.enumerated() {
      let path = SessionPath([.key("recordings"), .index(index)])
      if let track = played[Name(recording.file)] {
        faults.append(
          SessionFault(
            .error, path.appending(key: "file"),
            "the track “\(track)” plays the file \(recording.file)"))
      }
      if recording.ports.isEmpty {
        faults.append(
          SessionFault(
            recording.armed ? .error : .warning, path.appending(key: "ports"),
            "there are no ports to record"))
      }
    }
  }

  private static func checkGroups(
    _ document: SessionDocument, _ near: inout NearNames, _ faults: inout [SessionFault]
  ) {
    let names = document.tracks.map(\.name)
    let known = Set(names.map(Name.init))
    var owners: [Name: String] = [:]
    for (index, group) in document.groups.enumerated() {
      let path = SessionPath([.key("groups"), .index(index), .key("tracks")])
      for (number, name) in group.tracks.enumerated() {
        let path = path.appending(index: number)
        if !known.contains(Name(name)) {
          let near = near.question(name, in: names)
          faults.append(SessionFault(.error, path, "there is no track “\(name)”\(near)"))
        } else if let owner = owners.updateValue(group.name, forKey: Name(name)) {
          faults.append(SessionFault(.error, path, "the group “\(owner)” has this track already"))
        }
      }
    }
  }

  private static func checkControllers(
    _ document: SessionDocument, _ targets: SessionTargets, _ near: inout NearNames,
    _ faults: inout [SessionFault]
  ) {
    for (index, mapping) in document.controllers.enumerated() {
      let path = SessionPath([.key("controllers"), .index(index)])
      let shape: SessionShape
      do throws(SessionError) {
        shape = try targets.shape(at: try SessionPath(mapping.target), &near)
      } catch {
        faults.append(SessionFault(.error, path.appending(key: "target"), error.description))
        continue
      }
      let range: ClosedRange<Double>
      switch shape {
      case .flag: range = 0...1
      case .number(let bounds, _): range = bounds
      case .integer(let bounds, _): range = Double(bounds.lowerBound)...Double(bounds.upperBound)
      default:
        faults.append(
          SessionFault(
            .error, path.appending(key: "target"),
            "a controller moves numbers and switches, not \(shape.wanted)"))
        continue
      }
      for (key, value) in [("low", mapping.low), ("high", mapping.high)] {
        if let value, !range.contains(value) {
          faults.append(
            SessionFault(
              .error, path.appending(key: key),
              "\(plain(value)) is out of the target's range: \(shape.wanted)"))
        }
      }
    }
  }

  private static func checkConnections(
    _ document: SessionDocument, _ faults: inout [SessionFault]
  ) {
    var seen: Set<SessionConnection> = []
    for (index, connection) in document.connections.enumerated()
    where !seen.insert(connection).inserted {
      faults.append(
        SessionFault(
          .warning, SessionPath([.key("connections"), .index(index)]),
          "this connection is there twice"))
    }
  }
}
