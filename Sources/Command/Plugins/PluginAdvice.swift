import Graph
import PluginHost
import Sessions

/// Messages about plugins that are not there, with the names that somebody may have meant.
extension World {
  /// Creates the plugins that the command finds by name.
  static var named: World { World(validator: PluginValidator()) }

  /// Returns the URI of the plugin that `name` names.
  ///
  /// - Throws: `HostError`: no such plugin, or several of this name.
  func knownURI(named name: String) throws(HostError) -> String {
    guard let uri = try uri(named: name) else { throw .unknownPlugin(uri: name) }
    return uri
  }

  /// Returns an error in words. A wrong name is followed by the names that are near, and a wrong symbol or
  /// preset by those that the plugin has, the nearest first.
  func words(for error: HostError) -> String {
    switch error {
    case .unknownPlugin(let name):
      return "\(error)\(NearWords.question(nearPlugins(to: name)))"
    case .unknownPort(let plugin, let symbol), .unknownParameter(let plugin, let symbol):
      guard let description = try? description(of: plugin) else { break }
      let controls = description.ports.filter { $0.kind == .control && $0.direction == .input }
        .map(\.symbol)
      let parameters = description.parameters.filter(\.isWritable).map {
        String($0.uri.split(separator: "#").last ?? "")
      }
      return "\(error)\(list(of: "controls", controls + parameters, near: symbol))"
    case .unknownPreset(let plugin, let preset):
      guard let description = try? description(of: plugin) else { break }
      return "\(error)\(list(of: "presets", description.presets.map(\.label), near: preset))"
    default: break
    }
    return error.description
  }

  /// Returns names of installed plugins that resemble `name`, at most three.
  private func nearPlugins(to name: String) -> [String] {
    guard let plugins = try? catalog()?.plugins else { return [] }
    // The beginnings of URIs are alike, so the ends are compared.
    let text = name.split(separator: "#", maxSplits: 1).first.map(String.init) ?? name
    let ends = plugins.map { Self.end(of: $0.uri) }
    return NearWords.find(Self.end(of: text), in: ends + plugins.map(\.name))
  }

  /// Returns the part of a URI behind its last separator.
  private static func end(of uri: String) -> String {
    uri.split(whereSeparator: { "/#:".contains($0) }).last.map(String.init) ?? uri
  }

  /// Returns the end of a message that lists what a plugin has, the words near to `word` first.
  private func list(of kind: String, _ words: [String], near word: String) -> String {
    if words.isEmpty { return "; it has no \(kind)" }
    let sorted = NearWords.sorted(words, by: word).map { "“\($0)”" }
    let most = 12
    let rest = sorted.count > most ? " and \(sorted.count - most) more" : ""
    return "; its \(kind) are \(sorted.prefix(most).joined(separator: ", "))\(rest)"
  }
}

/// The names of the installed plugins, read when they are first asked for. One thread.
final class InstalledNames {
  private lazy var found = try? PluginCatalog(of: BundleFolders(), by: PluginValidator())

  func catalog() -> PluginCatalog? { found }
}
