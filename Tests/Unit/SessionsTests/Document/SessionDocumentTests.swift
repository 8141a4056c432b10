import Foundation
import Sessions
import System
import TestSupport
import Testing

@Suite struct SessionDocumentTests {
  @Test func aSessionSurvivesWritingAndReading() throws {
    let document = sampleSession()
    let text = SessionStore.text(of: document)
    try expectEqual(SessionStore.parse(text, path: "x"), document)
    // Coding through Foundation gives the same.
    let data = try JSONEncoder().encode(document)
    try expectEqual(JSONDecoder().decode(SessionDocument.self, from: data), document)
  }

  @Test func defaultsAreNotWritten() throws {
    var document = SessionDocument(name: "Small")
    document.tracks = [SessionTrack(name: "a", files: ["a.wav"])]
    expectEqual(
      String(decoding: SessionStore.text(of: document), as: UTF8.self),
      """
      {
        "name" : "Small",
        "tracks" : [
          {
            "file" : "a.wav",
            "name" : "a"
          }
        ],
        "version" : 1
      }

      """)
  }

  @Test func startsAndTriggersAreOneOfTheirKinds() throws {
    for start in [SessionStart.frame(1 << 53), .seconds(0.25), .beat(7.5)] {
      expectEqual(SessionStart(json: start.json), start)
    }
    for trigger in [
      SessionTrigger.manual, .frame(480), .hostTime(1 << 60), .beat(4), .rolls,
      .wallTime(try require(WallTime("2026-11-28T22:15:00.25Z"))),
      .note(SessionMIDINumber("7")!), .osc("/go"),
    ] {
      expectEqual(SessionTrigger(json: trigger.json), trigger)
    }
    let both = "{version: 1, tracks: [{name: 'a', file: 'a', start: {frame: 1, beat: 2}}]}"
    expectEqual(
      faults(in: both),
      [
        "tracks[0].start: it needs exactly one member: an object with one of frame, seconds, beat"
      ])
  }

  @Test func controllersHaveOneText() {
    for text in ["cc0", "cc119@16", "nrpn16383", "nrpn5@1"] {
      expectEqual(SessionController(text)?.description, text)
    }
    for text in ["cc120", "cc1@0", "cc1@17", "nrpn16384", "cc", "CC7", "note5", "cc7 "] {
      expectNil(SessionController(text), "\(text)")
    }
    expectTrue(
      SessionMIDINumber("127@16")?.description == "127@16" && SessionMIDINumber("128") == nil)
  }

  /// All faults are listed, each with its path.
  @Test func allFaultsAreNamed() {
    expectEqual(
      faults(
        in: """
          {version: 1, name: "a\\nb", samplerate: 48000, transport: {bpm: "fast", mode: 'leed'},
           tracks: [{name: 'a', file: 'a.wav', level: -3, pan: 1.5, pitch: 1e9, fadeIn: NaN, mute: 1},
                    {file: [], volume: 25, chain: [{id: 'a b', uri: '', parameters: {gain: 'x'}}]}, 7],
           buses: [{name: 'main', channels: 2.5, chanels: 2}],
           recordings: [{name: 'r', ports: ['x'], file: '../r.wav'}, {name: 's', ports: [], file: '/etc/s.wav'}],
           'odd key': 1, groups: [{name: 'g', tracks: ['a'], trigger: {note: '128'}}]}
          """),
      [
        "[odd key]: unknown key",
        "samplerate: unknown key; did you mean “sampleRate”?",
        "name: “a\nb” is not allowed: 1 to 200 bytes without control characters",
        "transport.mode: “leed” is none of none, follow, lead; did you mean “lead”?",
        "transport.bpm: a text is not allowed: a number, 1 to 1000 beats per minute",
        "tracks[0].level: unknown key; did you mean “gain”?",
        "tracks[0].mute: a number is not allowed: true or false",
        "tracks[0].pitch: 1000000000 is out of range: -2400 to 2400 cents",
        "tracks[0].pan: 1.5 is out of range: -1 to 1",
        "tracks[0].fadeIn: the number is not finite",
        "tracks[1].name: it is missing: a text, 1 to 200 bytes without control characters",
        "tracks[1].file: the list is empty",
        "tracks[1].gain: 25 is out of range: -120 to 24 dB",
        "tracks[1].chain[0].id: “a b” is not allowed: 1 to 64 letters, digits, hyphens and underscores",
        "tracks[1].chain[0].uri: “” is not allowed: a plugin's URI, the end of that, or its name",
        "tracks[1].chain[0].parameters.gain: a text is not allowed: a number, -1e+30 to 1e+30",
        "tracks[2]: a number is not allowed: an object",
        "buses[0].chanels: unknown key; did you mean “channels”?",
        "buses[0].channels: 2.5 is not allowed: a whole number, 1 to 64 channels",
        "recordings[0].ports[0]: “x” is not allowed: a JACK port as CLIENT:PORT, of up to 320 bytes",
        "recordings[0].file: “../r.wav” is not allowed: a path inside the session's folder, relative and without “..”, that is none of session.json, session.journal and session.lock and has no part that begins with a dot",
        "recordings[1].file: “/etc/s.wav” is not allowed: a path inside the session's folder, relative and without “..”, that is none of session.json, session.journal and session.lock and has no part that begins with a dot",
        "groups[0].trigger.note: “128” is not allowed: a MIDI note number from 0 to 127, with @1 to @16 for one channel",
      ])
  }

  @Test func versionsOfTheFutureAreRefusedByTheirNumber() {
    expectEqual(
      faults(in: "{version: 2, chords: []}"),
      [
        "version: this session has version 2; this program reads up to version 1"
      ])
    expectEqual(faults(in: "{}"), ["version: it is missing: a whole number, 1 to 1"])
    expectEqual(faults(in: "[]"), ["a list is not allowed: an object"])
  }

  @Test func aSyntaxErrorHasFileLineAndColumn() throws {
    let error = try #require(throws: SessionError.self) {
      try parsed("{\n  version: 1,\n  tracks: [{name: 'a' file: 'b'}]\n}")
    }
    expectEqual("\(error)", "session.json:3:23: “,” or “}” is missing; found “f”")
  }

  /// Numbers of elements, lengths and magnitudes that would exhaust memory or overflow.
  @Test func hostileSizesAreRefused() {
    let tracks = (0..<1025).map { "{name: '\($0)', file: 'a'}" }.joined(separator: ",")
    expectEqual(
      faults(in: "{version: 1, tracks: [\(tracks)]}"),
      [
        "tracks: 1025 elements are too many: 1024 at most"
      ])
    let long = String(repeating: "x", count: 5000)
    expectEqual(faults(in: "{version: 1, name: '\(long)'}").count, 1)
    for number in ["1e308", "-1e400", "Infinity", "99999999999999999999999", "-1"] {
      let text = "{version: 1, tracks: [{name: 'a', file: 'a', start: {frame: \(number)}}]}"
      expectEqual(faults(in: text).count, 1, "\(number)")
    }
    for path in [
      "a/../../b", "..", "./a", "a//b", "a/", "/a", "", "a/\u{1}", "session.json",
      "session.journal.old", ".a",
      "takes/.a", "session.lock",
    ] {
      let text = JSONValue.table(["p": .text(path)]).bytes(isPretty: false).dropFirst(5).dropLast()
      let json =
        "{version: 1, recordings: [{name: 'r', ports: [], file: \(String(decoding: text, as: UTF8.self))}]}"
      expectEqual(faults(in: json).count, 1, "\(path)")
    }
  }

  @Test func aSessionOf64TracksIsReadInMilliseconds() throws {
    var document = SessionDocument(name: "Large")
    for index in 0..<64 {
      var track = SessionTrack(name: "track \(index)", files: ["audio/\(index).wav"])
      track.volume = -3.25
      track.chain = [SessionPlugin(id: "p\(index)", uri: "http://lv2plug.in/plugins/eg-amp")]
      track.chain[0].parameters = ["gain": -6, "a": 1, "b": 2.5, "c": 3]
      document.tracks.append(track)
    }
    let text = SessionStore.text(of: document)
    // How long it takes is told, not judged.
    let time = try ContinuousClock().measure {
      for _ in 0..<10 { _ = try SessionStore.parse(text, path: "x") }
    }
    let edits = try ContinuousClock().measure {
      for index in 0..<10 {
        try document.apply(.set(try SessionPath("tracks[\(index)].volume"), .integer(-5)))
      }
    }
    print("64 tracks, \(text.count) bytes: read in \(time / 10), edited in \(edits / 10)")
    try expectEqual(SessionStore.parse(text, path: "x").tracks.count, 64)
  }

  /// Earlier versions called the gain of a track its volume.
  @Test func anEarlierKeyIsReadAndNotWritten() throws {
    func parsed(_ text: String) throws -> SessionDocument {
      try SessionStore.parse(Array(text.utf8), path: "session.json")
    }
    let old = try parsed(
      "{version: 1, tracks: [{name: 'a', file: 'a.wav', volume: -5}], buses: [{name: 'b', volume: 2}]}"
    )
    expectTrue(old.tracks[0].volume == -5 && old.buses[0].gain == 2)
    let text = String(decoding: SessionStore.text(of: old), as: UTF8.self)
    expectTrue(!text.contains("volume") && text.contains("\"gain\" : -5"), "\(text)")
    #expect(throws: SessionError.self) {
      try parsed("{version: 1, tracks: [{name: 'a', file: 'a.wav', volume: -5, gain: -5}]}")
    }
    #expect(throws: SessionError.self) {
      try parsed("{version: 1, tracks: [{name: 'a', file: 'a.wav', volume: 500}]}")
    }
  }
}
