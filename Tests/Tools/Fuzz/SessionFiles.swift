import Foundation
import Sessions
import TestSupport

/// Damaged files of sessions. They are refused, or opened, checked, edited, saved, drawn and collected. The session's
/// folder has links that lead out of it; nothing outside may change.
struct SessionFiles: Subject {
  private let corpus: Corpus

  init(_ corpus: Corpus) { self.corpus = corpus }

  static func make(in folder: String) throws {
    for name in ["duo", "mix", "record", "scenes"] {
      try FileManager.default.copyItem(
        atPath: repository.appendingPathComponent("sessions/\(name)/session.json").path,
        toPath: "\(folder)/\(name).json")
    }
    try rich.write(toFile: "\(folder)/rich.json", atomically: false, encoding: .utf8)
    // A journal of that session.
    let session = "\(folder)/../rich"
    try FileManager.default.createDirectory(atPath: session, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: session) }
    try rich.write(toFile: "\(session)/session.json", atomically: false, encoding: .utf8)
    do {
      let store = try SessionStore(opening: session)
      for text in [
        "tracks[drums].volume=-6", "tracks[bass].file=['a.wav', '../outside/precious.wav']",
        "buses+={name: 'extra', bus: 'main'}", "recordings[take].file=takes/b.wav",
        "scenes[soft].values={'tracks[bass].gain': -3}",
        "automation[1].points+={at: {frame: 96000}, value: -1}",
        "tracks[bass].name=low",
      ] {
        try store.apply(try SessionEdit(assignment: text, in: store.document))
      }
      try store.apply(.move(try SessionPath("tracks[1]"), to: 0))
      try store.apply(.remove(try SessionPath("connections[0]")))
    }
    try FileManager.default.copyItem(
      atPath: "\(session)/session.journal", toPath: "\(folder)/rich.journal")
  }

  /// A session with every key.
  private static let rich = """
    {version: 1, name: 'Rich', sampleRate: 48000,
     transport: {mode: 'lead', bpm: 96.5, beatsPerBar: 3, beatUnit: 8},
     tracks: [
       {name: 'drums', file: 'audio/a.wav', volume: -3.5, mute: false, solo: true, rate: 1.5, pitch: -100,
        pan: 0.5, fadeIn: 0.1, fadeOut: 0.2, trimStart: 1, trimEnd: 5, loop: true, start: {beat: 2}, bus: 'main',
        chain: [{id: 'amp', uri: 'http://lv2plug.in/plugins/eg-amp', preset: 'urn:x:y', state: 'plugins/amp.lv2',
                 parameters: {gain: -6, 'urn:a#b': 1}, bypass: true, isolate: true, trust: true}]},
       {name: 'bass', file: ['../outside/precious.wav', 'link/precious.wav', '/etc/hostname'],
        start: {frame: 48000}, ports: ['system:playback_1']}],
     buses: [{name: 'main', channels: 2, gain: -1, mute: true, ports: ['system:playback_1']},
             {name: 'sub', bus: 'main'}],
     recordings: [{name: 'take', ports: ['system:capture_1'], file: 'takes/a.wav', format: 's24', bits: 24, armed: true}],
     connections: [{from: 'a:b', to: 'c:d'}],
     controllers: [{controller: 'cc7@2', target: 'tracks[drums].volume', low: -40, high: 6}],
     groups: [{name: 'all', tracks: ['drums', 'bass'], trigger: {note: '60@10'}}],
     scenes: [{name: 'soft', fade: 250, program: '3@1', values: {
       'tracks[bass].gain': -6, 'tracks[bass].mute': true, 'buses[sub].gain': -3,
       'tracks[drums].chain[amp].parameters["urn:a#b"]': 0.5}}],
     automation: [{target: 'buses[main].gain', points: [{at: {beat: 0}, value: 0}, {at: {beat: 4}, value: -12}]},
                  {target: 'tracks[bass].pan', line: 'step', points: [{at: {seconds: 1}, value: 1}]}]}
    """

  // MARK: Damage

  func input(_ dice: inout Dice) -> Corpus.File {
    if dice.once(in: 4) { return corpus.damaged(&dice) }
    let file = corpus.files[dice.roll(corpus.files.count)]
    var text = String(decoding: file.bytes, as: UTF8.self)
    for _ in 0...dice.roll(4) {
      let values = text.matches(
        of: #/[:\[,]\s*(-?[0-9.]+|true|false|"[^"]*"|'[^']*'|\{[^{}]*\})(?=\s*[,\]}])/#
      ).map(\.output.1)
      let words = text.matches(of: #/[A-Za-z]+/#).map(\.output)
      if values.isEmpty || words.isEmpty { break }
      // A path, in one of three cases.
      let paths = text.matches(of: #/['"][^'":]+[.\/][^'":]+['"]/#).map(\.output)
      if !paths.isEmpty, dice.once(in: 3) {
        let path = paths[dice.roll(paths.count)]
        text.replaceSubrange(
          path.startIndex..<path.endIndex, with: Self.paths[dice.roll(Self.paths.count)])
      } else if dice.once(in: 4) {
        let word = words[dice.roll(words.count)]
        let other = String(words[dice.roll(words.count)])
        text.replaceSubrange(word.startIndex..<word.endIndex, with: other)
      } else {
        let value = values[dice.roll(values.count)]
        let other =
          dice.once(in: 3)
          ? String(values[dice.roll(values.count)]) : Self.odd[dice.roll(Self.odd.count)]
        text.replaceSubrange(value.startIndex..<value.endIndex, with: other)
      }
    }
    if file.name.hasSuffix(".journal") { text = Self.withChecksums(text) }
    return Corpus.File(name: file.name, bytes: Array(text.utf8))
  }

  /// Values that are right in one place and wrong in another.
  private static let odd = [
    "-1", "0", "1", "2", "1e300", "-1e300", "0.5", "1e-320", "NaN", "Infinity",
    "0x7fffffffffffffff",
    "9223372036854775807", "-9223372036854775808", "18446744073709551616", "9007199254740992",
    "null", "true", "[]", "{}", "''", "'..'", "'../outside/precious.wav'", "'link'",
    "'link/precious.wav'", "'link/new/a.wav'", "'/etc/hostname'", "'.'", "'a/../../outside/x.wav'",
    "'session.json'", "'session.lock'", "'audio/a.wav'", "'main'", "'sub'", "'drums'", "'bass'",
    "'\\u0000'", "'\\ud83d\\ude00'", "'tracks[0].pan'",
    "'tracks[drums].chain[amp].parameters.gain'",
    "'tracks[bass].mute'", "'step'", "'3@1'", "{'tracks[0].gain': 1}",
    "{at: {beat: 1}, value: true}",
    "'buses[0].bus'", "'cc7'", "'nrpn16383@16'", "{beat: 1e9}", "{seconds: 1e6}",
    "{frame: 9007199254740992}",
    "{rolls: true}", "{osc: '/a'}", "['a', 'b', 'c']", "[[[[[[]]]]]]", "'a:b'", "// ", "/*",
  ]

  /// Paths that lead, or could lead, out of the session's folder, and names of its own files.
  private static let paths = [
    "'..'", "'../outside/precious.wav'", "'link'", "'link/precious.wav'", "'link/new/a.wav'",
    "'file'", "'/etc/hostname'", "'a/../../outside/x.wav'", "'session.json'", "'session.lock'",
    "'session.journal'", "'audio/a.wav'", "'audio/.collect.part'", "'takes/link/a.wav'",
  ]

  /// Gives each line of a journal the right checksum, so that what is in it is read.
  private static func withChecksums(_ text: String) -> String {
    text.split(separator: "\n").map { line in
      let json = line.dropFirst(17)
      let sum = json.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
        ($0 ^ UInt64($1)) &* 0x100_0000_01b3
      }
      let digits = String(sum, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits + " " + json + "\n"
    }.joined()
  }

  // MARK: Running a case

  /// Files of ten seconds.
  private struct Waveforms: SessionWaveforms {
    func waveform(of file: String) -> SessionWaveform? {
      SessionWaveform(seconds: 10, peaks: [-0.5...0.5, 0...1])
    }
  }

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    let files = FileManager.default
    // In memory where that is possible: each save waits for the disk.
    let place =
      access("/dev/shm", W_OK) == 0 ? "/dev/shm/cuejack-fuzz-\(getpid())" : "\(scratch).sessions"
    let work = URL(fileURLWithPath: place).resolvingSymlinksInPath().path
    let (session, outside) = ("\(work)/session", "\(work)/outside")
    try? files.removeItem(atPath: work)
    defer { try? files.removeItem(atPath: work) }
    try files.createDirectory(atPath: "\(session)/audio", withIntermediateDirectories: true)
    try files.createDirectory(atPath: outside, withIntermediateDirectories: true)
    try Data("precious".utf8).write(to: URL(fileURLWithPath: "\(outside)/precious.wav"))
    try Data("a".utf8).write(to: URL(fileURLWithPath: "\(session)/audio/a.wav"))
    try files.createSymbolicLink(atPath: "\(session)/link", withDestinationPath: outside)
    try files.createSymbolicLink(
      atPath: "\(session)/file", withDestinationPath: "\(outside)/precious.wav")
    if input.name.hasSuffix(".journal") {
      try Data(Self.rich.utf8).write(to: URL(fileURLWithPath: "\(session)/session.json"))
      try Data(input.bytes).write(to: URL(fileURLWithPath: "\(session)/session.journal"))
    } else {
      try Data(input.bytes).write(to: URL(fileURLWithPath: "\(session)/session.json"))
    }
    do {
      try use(session, work, &dice)
    } catch let error as SessionError {
      _ = error.description
    }
    guard try files.contentsOfDirectory(atPath: work).sorted() == ["outside", "session"],
      try files.contentsOfDirectory(atPath: outside) == ["precious.wav"],
      try Data(contentsOf: URL(fileURLWithPath: "\(outside)/precious.wav")) == Data("precious".utf8)
    else { fatalError("something outside the session's folder has changed") }
  }

  private func use(_ session: String, _ work: String, _ dice: inout Dice) throws {
    let store = try SessionStore(opening: session)
    let document = store.document
    for fault in SessionCheck().faults(of: document) { _ = fault.description }
    let graph = SessionGraph(document)
    _ = graph.dot
    _ = graph.picture.above(SessionTimeline(document, waveforms: Waveforms()).picture)
    // Everything that a runner writes.
    for recording in document.recordings {
      if let path = try? store.folder.pathForWriting(recording.file) {
        try mustBeInside(path, session)
      }
    }
    for (_, plugin) in document.plugins {
      if let path = try? store.folder.pathForWriting(plugin.stateFolder + "/state.ttl") {
        try mustBeInside(path, session)
      }
      if let path = try? store.folder.pathOfFolder(plugin.stateFolder) {
        try mustBeInside(path, session)
      }
    }
    for _ in 0...dice.roll(4) {
      let paths = [
        "tracks[0]", "tracks[0].file", "tracks[0].name", "buses[0].name", "buses",
        "recordings[0].file",
        "transport", "tracks[1].chain", "groups[0].trigger", "controllers[0].target", "version",
      ]
      let path = try SessionPath(paths[dice.roll(paths.count)])
      let value = try? JSON5Parser.parse(Array(Self.odd[dice.roll(Self.odd.count)].utf8))
      let edit: SessionEdit =
        switch dice.roll(4) {
        case 0: .add(path, value ?? .null, at: nil)
        case 1: .remove(path)
        case 2: .move(path, to: dice.roll(3))
        default: .set(path, value ?? .null)
        }
      try? store.apply(edit)
    }
    _ = try SessionCollection(store) { $0.hasPrefix(work + "/") ? nil : "not copied" }.run()
    try store.save()
    guard try SessionStore.read(session).document == store.document else {
      fatalError("the saved session is another one")
    }
  }

  /// Ends the process if a path for writing leads out of the session's folder.
  private func mustBeInside(_ path: String, _ session: String) throws {
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().resolvingSymlinksInPath()
    guard (parent.path + "/").hasPrefix(session + "/") else { fatalError("\(path) is outside") }
  }
}
