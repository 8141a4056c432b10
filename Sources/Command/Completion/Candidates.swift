import ArgumentParser
import Control
import Files
import Graph
import Pictures
import PluginHost
import Server
import System

/// A word that a shell offers, with a description for the shells that show one.
struct Candidate {
  let text: String
  var description: String?

  init(_ text: String, _ description: String? = nil) {
    self.text = text
    self.description = description
  }
}

/// What shells complete, besides the values that an option lists by itself. Each shell filters the
/// candidates by what has been typed.
extension CompletionKind {
  /// Names of sound files, and folders.
  static var soundFiles: CompletionKind {
    .file(extensions: Container.readExtensions.sorted().flatMap { [$0, $0.uppercased()] })
  }

  /// Names of pictures.
  static var picture: CompletionKind { .file(extensions: PictureFormat.allCases.map(\.rawValue)) }

  /// URIs of plugins.
  static var pluginURIs: CompletionKind {
    candidates { _ in Candidates.pluginURIs(in: World()) }
  }

  /// The value of `--plugin`: a URI, `URI#preset`, `URI:symbol=value,…`.
  static var plugins: CompletionKind {
    candidates { line in Candidates.plugins(for: line.current, in: World()) }
  }

  /// The value of `--isolate`: one of the line's plugins, or “all”.
  static var isolatedPlugins: CompletionKind {
    candidates { line in
      line.values(of: "--plugin").map { Candidate($0) } + [Candidate("all", "every plugin")]
    }
  }

  /// The value of `--map`: `cc7=1:gain`.
  static var controllerMaps: CompletionKind {
    candidates { line in
      guard let mark = line.current.firstIndex(of: "=") else {
        return (0...119).map { Candidate("cc\($0)=") }
      }
      let controller = line.current[...mark]
      let target = line.current[line.current.index(after: mark)...]
      return Candidates.controls(for: String(target), on: line, in: .named)
        .map { Candidate(controller + $0.text, $0.description) }
    }
  }

  /// The value of `--learn`: `1:gain`.
  static var controls: CompletionKind {
    candidates { line in Candidates.controls(for: line.current, on: line, in: .named) }
  }

  /// Names of the JACK servers that run.
  static var servers: CompletionKind {
    candidates { _ in JackServer.runningNames.sorted().map { Candidate($0) } }
  }

  /// Ports that the command's audio ports can be connected to: those that a recording hears, or those
  /// that hear a player.
  static var audioPorts: CompletionKind {
    candidates { line in
      ports(on: line) { !$0.isMIDI && $0.isOutput == line.words.dropFirst().contains("record") }
    }
  }

  /// Audio ports that send, or that receive.
  static func audioPorts(sending: Bool) -> CompletionKind {
    candidates { line in ports(on: line) { !$0.isMIDI && $0.isOutput == sending } }
  }

  /// MIDI ports that send, or that receive.
  static func midiPorts(sending: Bool) -> CompletionKind {
    candidates { line in ports(on: line) { $0.isMIDI && $0.isOutput == sending } }
  }

  /// JACK clients of running graphs.
  static var graphClients: CompletionKind {
    candidates { line in
      let servers = line.values(of: "--server")
      return RunningGraphs().reports.filter { servers.isEmpty || servers.contains($0.server) }
        .map { Candidate($0.client, "on \($0.server)") }
    }
  }

  /// JACK clients of running sessions.
  static var sessionClients: CompletionKind { remoteClients([.session]) }

  /// JACK clients of what can be controlled.
  static var remoteClients: CompletionKind { remoteClients(RemoteReport.Command.allCases) }

  private static func remoteClients(_ commands: [RemoteReport.Command]) -> CompletionKind {
    candidates { line in
      Candidates.remotes(on: line).filter { commands.contains($0.command) }
        .map { Candidate($0.client, "\($0.command.rawValue) \($0.path)") }
    }
  }

  /// The targets of `cuejack set`, in the session or command that the line names.
  static var remoteTargets: CompletionKind {
    candidates { line in
      Candidates.nodes(on: line).compactMap { node in
        guard node.kind == .action || node.kind == .parameter else { return nil }
        let name = node.address.dropFirst(RemoteNode.root.count + 1)
        return Candidate(node.types.isEmpty ? String(name) : "\(name)=", node.summary)
      }
    }
  }

  /// The OSC addresses of the session or command that the line names.
  static var remoteAddresses: CompletionKind {
    candidates { line in Candidates.nodes(on: line).map { Candidate($0.address, $0.summary) } }
  }

  /// Candidates that are computed when the user presses the tab key.
  private static func candidates(
    _ body: @escaping @Sendable (CompletionLine) -> [Candidate]
  ) -> CompletionKind {
    .custom { words, index, _ in
      let shell = CompletionShell.requesting
      // A name with a line break or another control character could not be told from two names.
      let line = CompletionLine(
        words, at: index, of: shell, version: CompletionShell.requestingVersion)
      return body(line)
        .filter { printable($0.text) == $0.text && !$0.text.isEmpty }
        .map { candidate in
          guard shell == .fish, let words = candidate.description else { return candidate.text }
          return "\(candidate.text)\t\(printable(words))"
        }
    }
  }

  private static func ports(
    on line: CompletionLine, where isWanted: (JackPort) -> Bool
  ) -> [Candidate] {
    JackServer(named: line.values(of: "--server").last).ports.filter(isWanted)
      .map { Candidate($0.name) }
  }
}

/// The candidates of single options.
enum Candidates {
  static func pluginURIs(in world: World) -> [Candidate] {
    world.uris.map { Candidate($0, (try? world.description(of: $0))?.name) }
  }

  /// Returns the URIs; or the presets or symbols of a plugin, if `text` has a plugin's URI and a # or a
  /// colon.
  static func plugins(for text: String, in world: World) -> [Candidate] {
    let named = world.uris.filter { uri in
      text.hasPrefix(uri) && (text.dropFirst(uri.count).first.map { "#:".contains($0) } ?? false)
    }
    guard let uri = named.max(by: { $0.utf8.count < $1.utf8.count }),
      let plugin = try? world.description(of: uri)
    else { return pluginURIs(in: world) }
    let rest = text.dropFirst(uri.count)
    guard let colon = rest.lastIndex(of: ":") else {
      return plugin.presets.map { preset in
        let name = preset.uri.split(separator: "#").last.map(String.init) ?? preset.uri
        let isFragment = preset.uri.contains("#") && !name.contains(":")
        return Candidate("\(uri)#\(isFragment ? name : preset.label)", preset.label)
      }
    }
    let settings = rest[rest.index(after: colon)...]
    let given = settings.split(separator: ",", omittingEmptySubsequences: false).dropLast()
    let known = Set(given.map { $0.prefix { $0 != "=" } })
    let start = text.dropLast(settings.count) + given.map { "\($0)," }.joined()
    return controlPorts(of: plugin).filter { !known.contains($0.symbol[...]) }
      .map { Candidate("\(start)\($0.symbol)=", $0.name) }
  }

  /// Returns completions of `PLUGIN:SYMBOL`, where PLUGIN counts the line's --plugin options from 1.
  static func controls(for text: String, on line: CompletionLine, in world: World) -> [Candidate] {
    let plugins = line.values(of: "--plugin").compactMap(PluginOption.init(argument:))
    guard let colon = text.firstIndex(of: ":"), let number = Int(text[..<colon]) else {
      return plugins.enumerated().map { Candidate("\($0.offset + 1):", $0.element.plugin) }
    }
    guard plugins.indices.contains(number - 1),
      let choice = try? PluginChoice(plugins[number - 1].plugin, values: [:], in: world),
      let plugin = try? world.description(of: choice.uri)
    else { return [] }
    let parameters = plugin.parameters.filter(\.isWritable).map {
      Candidate("\(number):\($0.uri.split(separator: "#").last ?? "")", $0.label)
    }
    return controlPorts(of: plugin).map { Candidate("\(number):\($0.symbol)", $0.name) }
      + parameters
  }

  private static func controlPorts(of plugin: PluginDescription) -> [PluginPort] {
    plugin.ports.filter { $0.kind == .control && $0.direction == .input }
  }

  /// Returns what runs and can be controlled on the server that the line names.
  static func remotes(on line: CompletionLine) -> [RemoteReport] {
    let servers = line.values(of: "--server")
    return RunningRemotes().reports.filter { servers.isEmpty || servers.contains($0.server) }
  }

  /// Returns what the session or command offers whose client is among the line's words, or the only one.
  static func nodes(on line: CompletionLine) -> [RemoteNode] {
    let remotes = remotes(on: line)
    let named = remotes.filter { line.words.dropFirst(2).dropLast().contains($0.client) }
    guard let remote = named.first ?? (remotes.count == 1 ? remotes.first : nil),
      let client = try? RemoteClient(of: OSCAddress(port: remote.port))
    else { return [] }
    return (try? client.nodes()) ?? []
  }
}
