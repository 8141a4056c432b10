import System

/// The shapes of a document's values by path, and the values that scenes and curves set, for many paths of one
/// document.
struct SessionTargets {
  private let document: SessionDocument
  private let tracks, buses: [Name: Int]

  init(_ document: SessionDocument) {
    self.document = document
    tracks = Self.indices(document.tracks.map(\.name))
    buses = Self.indices(document.buses.map(\.name))
  }

  private static func indices(_ names: [String]) -> [Name: Int] {
    Dictionary(names.enumerated().map { (Name($1), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the shape at a path. Looks at the track or bus of the path alone.
  func shape(at path: SessionPath, _ near: inout NearNames) throws(SessionError) -> SessionShape {
    var single = SessionDocument()
    var path = path
    guard path.steps.count > 1, case .key(let list) = path.steps[0] else {
      return try document.shape(at: path)
    }
    switch (list, path.steps[1]) {
    case ("tracks", .name(let name)):
      guard let index = tracks[Name(name)] else { throw unknown(name, among: tracks, path, &near) }
      single.tracks = [document.tracks[index]]
    case ("tracks", .index(let index)) where document.tracks.indices.contains(index):
      single.tracks = [document.tracks[index]]
    case ("buses", .name(let name)):
      guard let index = buses[Name(name)] else { throw unknown(name, among: buses, path, &near) }
      single.buses = [document.buses[index]]
    case ("buses", .index(let index)) where document.buses.indices.contains(index):
      single.buses = [document.buses[index]]
    default: return try document.shape(at: path)
    }
    path.steps[1] = .index(0)
    return try single.shape(at: path)
  }

  /// Returns the value at a path; nil if the document has none there that scenes and curves set.
  func target(at path: SessionPath) -> SessionTarget? {
    guard path.steps.count > 2, case .key(let list) = path.steps[0], let key = path.steps[2].word
    else { return nil }
    let names = list == "tracks" ? tracks : buses
    let owner: Int? =
      switch path.steps[1] {
      case .index(let index):
        (list == "tracks" ? document.tracks.count : document.buses.count) > index ? index : nil
      case .key(let name), .name(let name): names[Name(name)]
      }
    guard ["tracks", "buses"].contains(list), let owner else { return nil }
    let isTrack = list == "tracks"
    func target(_ value: SessionTarget.Value) -> SessionTarget {
      SessionTarget(isTrack: isTrack, owner: owner, value: value)
    }
    let record = isTrack ? SessionTrack.shape : SessionBus.shape
    switch (record[key]?.key, path.steps.count) {
    case ("gain", 3): return target(.gain)
    case ("mute", 3): return target(.mute)
    case ("pan", 3): return isTrack ? target(.pan) : nil
    case ("chain", 6) where path.steps[4] == .key("parameters"):
      let chain = isTrack ? document.tracks[owner].chain : document.buses[owner].chain
      let plugin: Int? =
        switch path.steps[3] {
        case .index(let index): index
        case .key(let id), .name(let id): chain.firstIndex { $0.id.isSameName(as: id) }
        }
      guard let plugin, chain.indices.contains(plugin), let name = path.steps[5].word,
        TextRule.symbol.allows(name)
      else { return nil }
      return target(.control(plugin: plugin, name: name))
    default: return nil
    }
  }

  /// Returns the value at the path that is written; nil if there is none that scenes and curves set.
  func target(written text: String) -> SessionTarget? {
    (try? SessionPath(text)).flatMap(target(at:))
  }

  private func unknown(
    _ name: String, among names: [Name: Int], _ path: SessionPath, _ near: inout NearNames
  ) -> SessionError {
    let near = near.question(name, in: names.keys.map(\.text).sorted())
    return .edit(path: path.description, reason: "there is no element “\(name)”\(near)")
  }
}
