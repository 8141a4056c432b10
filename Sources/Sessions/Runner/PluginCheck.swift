import Graph
package import PluginHost
import System

/// A check of the plugins of a document against those that are installed: what a run would refuse.
package struct PluginCheck {
  private let world: World

  package init(_ world: World) { self.world = world }

  /// Returns the faults of a plugin, with paths that begin at it: it is not installed, or has no such preset,
  /// control or value.
  package func faults(of plugin: SessionPlugin) -> [SessionFault] {
    let description: PluginDescription
    do throws(HostError) {
      description = try world.description(of: world.uri(named: plugin.uri) ?? plugin.uri)
    } catch {
      return [SessionFault(.error, SessionPath([.key("uri")]), error.description)]
    }
    var faults = description.problems.map {
      SessionFault(.error, SessionPath([.key("uri")]), $0)
    }
    if let preset = plugin.preset, !description.presets.contains(where: { $0.uri == preset }) {
      let near = NearWords.question(preset, in: description.presets.map(\.uri))
      faults.append(
        SessionFault(
          .error, SessionPath([.key("preset")]), "the plugin has no preset \(preset)\(near)"))
    }
    for (name, value) in plugin.parameters.sorted(by: { $0.key < $1.key }) {
      if let reason = Self.reason(against: name, value, of: description) {
        let path = SessionPath([.key("parameters")]).appending(name: name)
        faults.append(SessionFault(.error, path, reason))
      }
    }
    return faults
  }

  /// Returns the faults that plugins have in one document and not in the document before.
  package func newFaults(in document: SessionDocument, since old: SessionDocument) -> [SessionFault]
  {
    let before = old.plugins.map(\.plugin)
    return document.plugins.filter { !before.contains($0.plugin) }.flatMap { path, plugin in
      let known = before.first { $0.id == plugin.id }.map { Set(faults(of: $0)) } ?? []
      return faults(of: plugin).filter { !known.contains($0) }.map { $0.behind(path) }
    }
  }

  /// Returns why a value cannot be set; nil if it can.
  private static func reason(
    against name: String, _ value: Double, of description: PluginDescription
  ) -> String? {
    if let port = description.port(name), port.kind == .control, port.direction == .input {
      // The rate of the run decides on other ranges.
      guard !port.isSampleRate else { return nil }
      let low = port.minimum ?? -.infinity
      let high = port.maximum ?? .infinity
      if low > high || (low...high).contains(Float(value)) { return nil }
      let unit = port.unit?.symbol.map { " \($0)" } ?? ""
      return
        "\(plain(value)) is out of the control's range, \(plain(Double(low))) to \(plain(Double(high)))\(unit)"
    }
    if description.parameters.contains(where: { $0.uri == name && $0.isWritable }) { return nil }
    let controls = description.ports.filter { $0.kind == .control && $0.direction == .input }
      .map(\.symbol)
    let names = controls.prefix(12).joined(separator: ", ")
    let near = NearWords.question(
      name, in: controls + description.parameters.filter(\.isWritable).map(\.uri),
      otherwise: names.isEmpty ? "" : ", but \(names)")
    return "the plugin has no such control\(near)"
  }
}

extension SessionFault {
  /// Returns the fault with a path in front of its own.
  package func behind(_ path: SessionPath) -> SessionFault {
    SessionFault(severity, SessionPath(path.steps + self.path.steps), message)
  }
}
