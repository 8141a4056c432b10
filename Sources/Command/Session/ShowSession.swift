import ArgumentParser
import Control
import Files
import Glibc
import Pictures
import Sessions
import System

/// `cuejack session show`.
struct ShowSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "List a session, or draw its graph and its timeline.",
    discussion: """
      The graph shows tracks, plugins, buses, recordings and ports from left to right. The timeline below it \
      shows the tracks with their waveforms, in seconds and bars. Edits in the journal are included. The list of \
      a session that runs says which connections wait for other clients.
      """
        + examples(
          "cuejack session show duo",
          "cuejack session show duo --output duo.png"))

  @Flag(help: "Draw an SVG file.")
  var svg = false

  @Flag(help: "Draw a PNG file.")
  var png = false

  @Flag(help: "Draw a PDF file.")
  var pdf = false

  @Flag(help: "Print the graph in the DOT language of Graphviz.")
  var dot = false

  @Flag(help: "Print the session as JSON, as session.json has it, with unsaved edits.")
  var json = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Write to this file, not to standard output. A name that ends in .svg, .png or .pdf asks for a picture.",
      valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  func validate() throws {
    try checkOnce(["--output", "-o"], same: ["-o": "--output"])
    try check(
      [svg, png, pdf, dot, json].count { $0 } <= 1,
      "--svg, --png, --pdf, --dot and --json exclude each other")
    try check(
      output == nil || picture != nil || dot || json,
      "--output needs --dot, --json, or a name that ends in .svg, .png or .pdf")
  }

  /// The kind of picture that is asked for.
  private var picture: PictureFormat? {
    if dot || json { return nil }
    return svg ? .svg : png ? .png : pdf ? .pdf : output.flatMap(PictureFormat.init(ofFile:))
  }

  func run() throws {
    let (reading, sessionFolder) = try Session.telling { () throws(SessionError) in
      (try SessionStore.read(folder), try SessionFolder(opening: folder))
    }
    for notice in reading.notices { Screen.shared.remark(notice) }
    let document = reading.document
    if json {
      try write(SessionStore.text(of: document))
    } else if dot {
      try write(Array(SessionGraph(document).dot.utf8))
    } else if let format = picture {
      if format != .svg, output == nil, isatty(STDOUT_FILENO) == 1 {
        throw ValidationError("a picture is not for a terminal: give --output")
      }
      let timeline = SessionTimeline(document, waveforms: FileWaveforms(sessionFolder))
      let drawn = SessionGraph(document).picture.above(timeline.picture)
      let bytes: [UInt8]
      do throws(PictureError) {
        bytes = try drawn.file(format)
      } catch {
        Screen.shared.complain("cannot draw \(folder): \(error)")
        throw ExitCode.failure
      }
      try write(bytes)
    } else {
      for line in Self.lines(document) { Screen.shared.say(line) }
      for line in waitingLines(sessionFolder) { Screen.shared.say("  \(printable(line))") }
    }
  }

  /// Returns what connections of the running session wait for.
  private func waitingLines(_ folder: SessionFolder) -> [String] {
    guard let report = RunningRemotes().reports.first(where: { $0.path == folder.path }) else {
      return []
    }
    do throws(RemoteError) {
      let client = try RemoteClient(of: OSCAddress(port: report.port))
      let values = try client.values(of: "\(RemoteNode.root)/waiting")
      guard case .string(let text)? = values.first?.arguments.last else { return [] }
      return text.split(separator: "\n").map(String.init)
    } catch {
      Screen.shared.remark("\(error)")
      return []
    }
  }

  private func write(_ bytes: [UInt8]) throws {
    guard let output else {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { rest in
          unsafe Glibc.write(STDOUT_FILENO, rest.baseAddress, rest.count)
        }
        if count < 0, errno == EINTR { continue }
        if count <= 0 { throw ExitCode.failure }
        rest = rest.dropFirst(count)
      }
      return
    }
    do throws(SoundFileError) {
      let file = try UnfinishedFile(output, isReplacing: force)
      try file.naming { () throws(SoundFileError) in
        try file.store.write(bytes, at: 0)
      }
      try file.finish()
    } catch {
      Screen.shared.complain("\(error)")
      if error.kind == .exists { Screen.shared.remark("--force replaces it") }
      throw ExitCode.failure
    }
  }

  /// The session in lines of text.
  private static func lines(_ document: SessionDocument) -> [String] {
    var lines = [document.name]
    let transport = document.transport
    var tempo = "\(plain(transport.bpm)) beats per minute"
    tempo += ", \(plain(transport.beatsPerBar))/\(transport.beatUnit)"
    if transport.mode != .none { tempo += ", transport: \(transport.mode.rawValue)" }
    if let rate = document.sampleRate { tempo += ", \(hertz(rate))" }
    lines.append("  \(tempo)")
    func row(_ kind: String, _ name: String, _ words: [String]) {
      lines.append("  \(kind) \(name): \(words.filter { !$0.isEmpty }.joined(separator: ", "))")
    }
    func output(_ bus: String?, _ ports: [String]?) -> String {
      guard let words = bus ?? ports?.joined(separator: " ") else { return "" }
      return words.isEmpty ? "ports: none" : "to \(words)"
    }
    func chain(_ plugins: [SessionPlugin]) -> String {
      plugins.map { "\($0.id) <\($0.uri)>\($0.bypass ? " (bypassed)" : "")" }
        .joined(separator: " -> ")
    }
    func late(_ delay: Double) -> String { delay == 0 ? "" : "\(plain(delay)) ms late" }
    for track in document.tracks {
      row(
        "track", track.name,
        [
          track.files.joined(separator: " "),
          track.volume == 0 ? "" : "\(plain(track.volume)) dB", track.mute ? "muted" : "",
          track.solo ? "solo" : "", track.loop ? "looped" : "", chain(track.chain),
          late(track.delay), output(track.bus, track.ports),
        ])
    }
    for bus in document.buses {
      row(
        "bus", bus.name,
        [
          bus.gain == 0 ? "" : "\(plain(bus.gain)) dB", bus.mute ? "muted" : "",
          chain(bus.chain), late(bus.delay), output(bus.bus, bus.ports),
        ])
    }
    for send in document.sends {
      row("send", send.name, ["from \(send.bus)", late(send.delay), "to \(send.to)"])
    }
    for recording in document.recordings {
      let ports = "from \(recording.ports.joined(separator: " "))"
      row("recording", recording.name, [recording.file, ports, recording.armed ? "armed" : ""])
    }
    for connection in document.connections {
      lines.append("  connection \(connection.from) -> \(connection.to)")
    }
    for mapping in document.controllers {
      lines.append("  controller \(mapping.controller) -> \(mapping.target)")
    }
    for group in document.groups {
      row("group", group.name, [group.tracks.joined(separator: ", "), words(for: group.trigger)])
    }
    for scene in document.scenes {
      let program = scene.program.map { "MIDI program \($0)" } ?? ""
      row(
        "scene", scene.name,
        ["\(scene.values.count) values", "\(plain(scene.fade)) ms", program])
    }
    for curve in document.automation {
      lines.append(
        "  curve of \(curve.target): \(curve.points.count) points, \(curve.line.rawValue)")
    }
    return lines
  }

  private static func words(for trigger: SessionTrigger) -> String {
    switch trigger {
    case .manual: ""
    case .frame(let frame): "starts at frame \(frame)"
    case .hostTime(let time): "starts at \(time)ns"
    case .wallTime(let time): "starts at \(time.text)"
    case .beat(let beat): "starts at beat \(plain(beat))"
    case .rolls: "starts with the transport"
    case .note(let note): "starts at MIDI note \(note)"
    case .osc(let address): "starts at \(address)"
    }
  }
}
