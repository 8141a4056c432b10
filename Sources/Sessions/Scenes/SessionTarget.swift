/// A value that scenes and curves set: it can change while a session runs.
package struct SessionTarget: Hashable, Sendable {
  package enum Value: Hashable, Sendable {
    case gain, pan, mute
    /// A control of a plugin by its symbol, or a parameter by its URI.
    case control(plugin: Int, name: String)
  }
  /// Whether the owner is a track. It is a bus otherwise.
  package let isTrack: Bool
  /// Index of the track or bus.
  package let owner: Int
  package let value: Value

  /// The words for what scenes and curves set.
  static let words = "gains, balances, mutes and parameters of plugins"

  /// The path of the value, with indices.
  package var path: SessionPath {
    let owner = SessionPath([.key(isTrack ? "tracks" : "buses"), .index(owner)])
    switch value {
    case .gain: return owner.appending(key: "gain")
    case .pan: return owner.appending(key: "pan")
    case .mute: return owner.appending(key: "mute")
    case .control(let plugin, let name):
      return Self.plugin(plugin, of: owner).appending(key: "parameters").appending(name: name)
    }
  }

  /// The shape of the value.
  var shape: SessionShape {
    func shape(_ key: String, of record: RecordShape) -> SessionShape {
      record[key]?.shape ?? .setting
    }
    let owner = isTrack ? SessionTrack.shape : SessionBus.shape
    switch value {
    case .gain: return shape("gain", of: owner)
    case .pan: return shape("pan", of: owner)
    case .mute: return shape("mute", of: owner)
    case .control:
      guard case .table(_, let element, _) = shape("parameters", of: SessionPlugin.shape) else {
        return .setting
      }
      return element
    }
  }

  /// The path of the plugin; nil if the value is none of a plugin.
  package var pluginPath: SessionPath? {
    guard case .control = value else { return nil }
    return SessionPath(Array(path.steps.prefix(4)))
  }

  private static func plugin(_ index: Int, of owner: SessionPath) -> SessionPath {
    owner.appending(key: "chain").appending(index: index)
  }
}
