import Sessions
import TestSupport
import Testing

@Suite struct SessionEditTests {
  private func edited(_ edit: (inout SessionDocument) throws -> Void) rethrows -> SessionDocument {
    var document = sampleSession()
    try edit(&document)
    return document
  }

  private func set(_ text: String, in document: inout SessionDocument) throws(SessionError) {
    try document.apply(try SessionEdit(assignment: text, in: document))
  }

  @Test(arguments: [
    "tracks[drums].volume", "tracks[0]", "buses[main].chain[0].parameters.gain", "transport.bpm",
    "tracks[\"2\"].pan", "tracks[a b.c=].start.beat", "tracks[\"a]\\\"b\"].name", "",
    "tracks[1].chain[x].parameters[urn:a#b]",
  ])
  func aPathHasOneText(text: String) throws {
    try expectEqual(SessionPath(text).description, text)
  }

  @Test(arguments: [
    "tracks[", "tracks[]", "tracks]", ".a", "a..b", "a.", "a b", "tracks[\"a]", "tracks[\"a\"",
    "tracks[99999999999]", "0", "a[0]b", String(repeating: "a.", count: 20) + "a",
    String(repeating: "a", count: 2000),
  ])
  func aBrokenPathIsRefused(text: String) {
    #expect(throws: SessionError.self) { try SessionPath(text) }
  }

  /// As an OSC address, a path counts from 1. Decibels may be called so, and a key may be its earlier one.
  @Test(arguments: [
    ("tracks/1/gain=-6dB", "tracks[0].gain", -6), ("tracks/drums/gain=-6 dB", "tracks[0].gain", -6),
    ("/cuejack/tracks/2/gain=1", "tracks[1].gain", 1),
    ("tracks[bass].volume=-3", "tracks[1].gain", -3),
    ("buses/main/volume=-4DB", "buses[0].gain", -4), ("transport/bpm=90", "transport.bpm", 90),
    ("tracks/1/plugins/1/gain=2dB", "tracks[0].chain[0].parameters.gain", 2),
    ("tracks/drums/plugins/amp/mix=0.5", "tracks[0].chain[0].parameters.mix", 0.5),
  ])
  func aValueHasTheNamesThatItHasElsewhere(edit: String, path: String, value: Double) throws {
    let document = try edited { document in try set(edit, in: &document) }
    try expectEqual(document.value(at: SessionPath(path)).double, value)
    expectEqual(
      document.json.members?["tracks"]?.elements?.allSatisfy { $0.members?["volume"] == nil }, true)
  }

  @Test(arguments: [
    "tracks/0/gain=1", "tracks/3000000000/gain=1", "tracks/nobody/gain=1", "tracks/1/gian=1", "/=1",
    "tracks/1=1",
    "tracks/1/gain=6 bB", "transport/bpm=90dB",
  ])
  func aWrongAddressChangesNothing(edit: String) {
    var document = sampleSession()
    #expect(throws: SessionError.self) { try set(edit, in: &document) }
    expectEqual(document, sampleSession())
  }

  @Test(arguments: [
    ("tracks[drums].gain", "tracks/drums/gain"), ("tracks[0].mute", "tracks/1/mute"),
    ("buses[1].chain[0].parameters.gain", "buses/2/plugins/1/gain"),
    ("tracks[a].chain[2].bypass", "tracks/a/bypass/3"), ("transport.bpm", nil), ("name", nil),
  ])
  func aPathHasAnAddress(path: String, address: String?) throws {
    try expectEqual(SessionPath(path).address, address)
  }

  @Test func valuesAreSetByIndexAndName() throws {
    let document = try edited { document in
      try set("tracks[drums].volume=-6", in: &document)
      try set("tracks[1].volume=+1.5", in: &document)
      try set("buses[1].gain=-0.5", in: &document)
      try set("tracks[0].chain[amp].parameters.gain=3", in: &document)
      try set("tracks[0].chain[0].parameters.mix=.25", in: &document)
      try set("tracks[0].chain[0].bypass=true", in: &document)
      try set("transport.mode=follow", in: &document)
      try set("tracks[bass].start.seconds=2.5", in: &document)
      try set("tracks[bass].file[1]=c.wav", in: &document)
      try set("tracks[drums].file=audio/kit.wav", in: &document)
      try set("tracks[bass].trimEnd=null", in: &document)
      try set("recordings[take].armed=false", in: &document)
      try set("name=With = sign", in: &document)
      try set("groups[all].trigger={osc: '/go'}", in: &document)
      try set("tracks[bass].ports+=system:playback_2", in: &document)
      try set("buses+={name: 'fx', bus: 'main'}", in: &document)
    }
    var expected = sampleSession()
    expected.tracks[0].volume = -6
    expected.tracks[1].volume = 1.5
    expected.buses[1].gain = -0.5
    expected.tracks[0].chain[0].parameters = ["gain": 3, "mix": 0.25]
    expected.tracks[0].chain[0].bypass = true
    expected.transport.mode = .follow
    expected.tracks[1].start = .seconds(2.5)
    expected.tracks[1].files = ["audio/a.wav", "c.wav"]
    expected.tracks[0].files = ["audio/kit.wav"]
    expected.tracks[1].trimEnd = nil
    expected.recordings[0].armed = false
    expected.name = "With = sign"
    expected.groups[0].trigger = .osc("/go")
    expected.tracks[1].ports?.append("system:playback_2")
    var effects = SessionBus(name: "fx")
    effects.bus = "main"
    expected.buses.append(effects)
    expectEqual(document, expected)
  }

  /// An empty list of ports says that the output is connected to nothing; without it, to the sound card.
  @Test func anEmptyListOfPortsIsWritten() throws {
    var document = SessionDocument(name: "n")
    document.tracks = [SessionTrack(name: "a", files: ["a.wav"])]
    let plain = document.json
    try set("tracks[a].ports=[]", in: &document)
    expectEqual(document.json.members?["tracks"]?.elements?[0].members?["ports"], .list([]))
    expectEqual(SessionDocument(json: document.json)?.json, document.json)
    expectTrue(SessionCheck.references(of: document).isEmpty)
    try set("tracks[a].ports+=system:playback_1", in: &document)
    expectEqual(document.tracks[0].ports, ["system:playback_1"])
    try document.apply(.remove(SessionPath("tracks[a].ports[0]")))
    expectEqual(document.tracks[0].ports, [])
    try set("tracks[a].ports=null", in: &document)
    expectEqual(document.json, plain)
    try set("tracks[a].ports+=system:playback_1", in: &document)
    expectEqual(document.tracks[0].ports, ["system:playback_1"])
  }

  /// Two ways to write é are two names, and a combining mark after a bracket or an equals sign is text.
  @Test func namesAreComparedAsBytes() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    var document = SessionDocument(name: "n")
    document.tracks = [composed, decomposed, "\u{301}x"].map { SessionTrack(name: $0, files: [$0]) }
    expectTrue(SessionCheck.references(of: document).isEmpty)
    for (index, name) in document.tracks.map(\.name).enumerated() {
      let edit = try SessionEdit(assignment: "tracks[\(name)].volume=-\(index + 1)", in: document)
      try document.apply(edit)
    }
    expectEqual(document.tracks.map(\.volume), [-1, -2, -3])
    let before = document
    try document.apply(
      try SessionEdit(assignment: "tracks[0].file=\(decomposed)", in: document))
    expectTrue(document != before)
    expectTrue(document.tracks[0].files[0].utf8.elementsEqual(decomposed.utf8))
    try document.apply(try SessionEdit(assignment: "tracks[2].file=\u{301}y", in: document))
    expectTrue(document.tracks[2].files[0].utf8.elementsEqual("\u{301}y".utf8))
    for name in [composed, decomposed, "\u{301}x"] {
      let path = SessionPath([.key("tracks"), .name(name)])
      try expectEqual(SessionPath(path.description), path)
    }
    expectTrue(
      SessionPath([.key("tracks"), .name(composed)])
        != SessionPath([.key("tracks"), .name(decomposed)]))
  }

  @Test func elementsAreAddedRemovedAndMoved() throws {
    let document = try edited { document in
      try document.apply(
        .add(
          SessionPath("tracks"), .table(["name": .text("pad"), "file": .text("pad.wav")]), at: 1))
      try document.apply(.move(SessionPath("tracks[pad]"), to: 2))
      try document.apply(.remove(SessionPath("connections[1]")))
      try document.apply(.remove(SessionPath("tracks[drums].chain[amp].parameters.gain")))
      try document.apply(.add(SessionPath("tracks[bass].file"), .text("d.wav"), at: nil))
    }
    expectEqual(document.tracks.map(\.name), ["drums", "bass", "pad"])
    expectEqual(document.connections.count, 1)
    expectTrue(document.tracks[0].chain[0].parameters.isEmpty)
    expectEqual(document.tracks[1].files, ["audio/a.wav", "audio/b.wav", "d.wav"])
  }

  @Test func aNewNameIsCarriedToAllReferences() throws {
    let document = try edited { document in
      try set("tracks[drums].name=kit", in: &document)
      try set("buses[main].name=out", in: &document)
    }
    expectEqual(document.groups[0].tracks, ["kit", "bass"])
    expectTrue(document.tracks[0].bus == "out" && document.buses[1].bus == "out")
    expectEqual(
      document.controllers.map(\.target),
      [
        "tracks[kit].volume", "buses[out].chain[limiter].parameters.drive",
      ])
    expectTrue(SessionCheck.references(of: document).isEmpty)
  }

  @Test func aNewNameIsCarriedToTheConnections() throws {
    func connection(_ port: String) -> SessionConnection {
      SessionConnection(from: port, to: "ardour:in 1")
    }
    let document = try edited { document in
      document.connections = [
        "Sample:drums_1", "Sample:drums_12", "Sample:drums_x", "Sample:bass_1", "other:drums_1",
      ].map(connection)
      document.connections.append(SessionConnection(from: "x:out", to: "Sample:midi_in"))
      try set("tracks[drums].name=kit: two", in: &document)
      try set("name=Another", in: &document)
    }
    expectEqual(
      document.connections,
      [
        "Another:kit_ two_1", "Another:kit_ two_12", "Another:drums_x", "Another:bass_1",
        "other:drums_1",
      ].map(connection) + [SessionConnection(from: "x:out", to: "Another:midi_in")])
  }

  @Test(arguments: [
    ("tracks[drums].level=1", "tracks[drums].level: unknown key; did you mean “gain”?"),
    (
      "tracks[drum].volume=1",
      "tracks[drum]: there is no element with this name; did you mean “drums”?"
    ),
    ("tracks[7].volume=1", "tracks[7]: there is no element 7: 0 to 1 are there"),
    ("recordings[take].file=../x.wav", "recordings[take].file: “../x.wav” is not allowed"),
    ("tracks[drums].volume=99", "tracks[drums].volume: 99 is out of range: -120 to 24 dB"),
    ("tracks[drums].volume=loud", "tracks[drums].volume: “loud” is no value"),
    ("tracks[drums].volume.x=1", "tracks[drums].volume.x: there is nothing inside"),
    ("tracks[drums].bus=mani", "tracks[0].bus: there is no bus “mani”; did you mean “main”?"),
    ("buses[main].bus=reverb", "buses[0].ports: it goes to the bus “reverb”"),
    ("buses[reverb].bus=reverb", "buses[1].bus: the buses feed each other in a cycle"),
    ("tracks[bass].name=drums", "tracks[1].name: “drums” is there twice"),
    ("tracks[bass].name=null", "“name”"), ("tracks[bass].file=null", "“file”"),
    ("tracks[0]=null", "an element is removed, not set to null"), ("volume", "is no PATH=VALUE"),
    ("tracks[0].chain[0].parameters[a b]=1", "this key is not allowed"),
    ("tracks[0].chain[0].parameters.gain=null", ""),
  ])
  func aWrongEditIsRefusedAndChangesNothing(text: String, message: String) throws {
    var document = sampleSession()
    if message.isEmpty || message == "“name”" || message == "“file”" {
      // “null” is a text for a text's field.
      if message.isEmpty {
        try set(text, in: &document)
        expectTrue(document.tracks[0].chain[0].parameters.isEmpty)
      } else {
        let path = try SessionPath(String(text.prefix { $0 != "=" }))
        let error = try #require(throws: SessionError.self) {
          try document.apply(.set(path, .null))
        }
        expectTrue("\(error)".contains("it cannot be removed"), "\(error)")
      }
      return
    }
    let error = try #require(throws: SessionError.self) { try set(text, in: &document) }
    expectTrue("\(error)".contains(message), "\(error)")
    expectEqual(document, sampleSession())
  }

  @Test func whatIsReferredToCannotBeRemoved() throws {
    var document = sampleSession()
    for path in ["buses[main]", "tracks[drums]"] {
      #expect(throws: SessionError.self) { try document.apply(.remove(try SessionPath(path))) }
    }
    expectEqual(document, sampleSession())
  }

  @Test func anEditSurvivesWritingAndReading() throws {
    for edit in [
      SessionEdit.set(try SessionPath("tracks[\"2\"].volume"), .number(-1.5)),
      .add(try SessionPath("tracks"), .table(["name": .text("a")]), at: 3),
      .add(try SessionPath("tracks"), .null, at: nil), .remove(try SessionPath("buses[a.b]")),
      .move(try SessionPath("tracks[1]"), to: 0), .replace(sampleSession().json),
    ] {
      let json = try JSON5Parser.parse(edit.json.bytes(isPretty: false))
      try expectEqual(SessionEdit(json: json), edit)
    }
    #expect(throws: SessionError.self) { try SessionEdit(json: .table(["sett": .text("a")])) }
  }

  @Test func valuesAreReadWithTheirDefaults() throws {
    let document = sampleSession()
    try expectEqual(document.value(at: SessionPath("tracks[bass].volume")), .integer(0))
    try expectEqual(document.value(at: SessionPath("tracks[drums].volume")), .number(-3.5))
    try expectEqual(document.value(at: SessionPath("buses[reverb].channels")), .integer(2))
    try expectEqual(document.value(at: SessionPath("tracks[bass].bus")), .null)
    try expectEqual(document.value(at: SessionPath("transport.beatUnit")), .integer(4))
  }

  /// Random edits never make a document that cannot be written and read again.
  @Test func randomEditsKeepTheDocumentWhole() throws {
    var generator = SeededGenerator(seed: 1)
    var document = sampleSession()
    let paths = [
      "tracks", "tracks[0]", "tracks[1]", "tracks[drums].chain", "tracks[0].start", "buses[0].bus",
      "buses", "groups[0].tracks", "groups[0].trigger.beat", "tracks[0].file", "tracks[0].file[0]",
      "transport", "transport.bpm", "name", "tracks[0].name", "buses[0].name", "connections",
      "controllers[0].target", "tracks[0].chain[0].parameters.gain", "sampleRate", "version",
    ]
    let values: [JSONValue] = [
      .null, .flag(true), .integer(1), .number(-2.5), .text("drums"), .text("main"), .list([]),
      .list([.text("a"), .text("b")]), .table([:]),
      .table(["name": .text("x"), "file": .text("y")]),
      .table(["beat": .integer(1)]), .number(.nan), .text("tracks[0].pan"),
    ]
    var accepted = 0
    for _ in 0..<300 {
      let path = try SessionPath(paths.randomElement(using: &generator)!)
      // A value of the right form, or any other.
      let own = try? sampleSession().value(at: path)
      let isOwn = Bool.random(using: &generator)
      let value = isOwn ? own ?? .null : values.randomElement(using: &generator)!
      let edit: SessionEdit =
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: .add(path, value, at: Bool.random(using: &generator) ? 0 : nil)
        case 1: .remove(path)
        case 2: .move(path, to: Int.random(in: 0..<3, using: &generator))
        default: .set(path, value)
        }
      let before = document
      do {
        try document.apply(edit)
        accepted += 1
      } catch {
        expectEqual(document, before)
      }
      try expectEqual(
        SessionStore.parse(SessionStore.text(of: document), path: "x"), document, "\(edit)")
      if accepted % 50 == 49 { document = sampleSession() }
    }
    expectTrue(accepted > 30)
  }
}
