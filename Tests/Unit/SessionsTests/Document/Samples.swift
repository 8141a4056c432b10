import Sessions

/// A session with something in every list.
func sampleSession() -> SessionDocument {
  var document = SessionDocument(name: "Sample")
  document.sampleRate = 48000
  document.transport.mode = .lead
  document.transport.bpm = 96
  var drums = SessionTrack(name: "drums", files: ["audio/drums.wav"])
  drums.volume = -3.5
  drums.bus = "main"
  drums.chain = [SessionPlugin(id: "amp", uri: "http://lv2plug.in/plugins/eg-amp")]
  drums.chain[0].parameters = ["gain": -6]
  var bass = SessionTrack(name: "bass", files: ["audio/a.wav", "audio/b.wav"])
  bass.start = .beat(4)
  bass.trimStart = 0.5
  bass.trimEnd = 8
  bass.loop = true
  bass.ports = ["system:playback_1"]
  document.tracks = [drums, bass]
  var main = SessionBus(name: "main")
  main.gain = -1
  main.ports = ["system:playback_1", "system:playback_2"]
  main.chain = [SessionPlugin(id: "limiter", uri: "urn:cuejack:plugins:limiter")]
  main.chain[0].state = "plugins/limiter.lv2"
  main.chain[0].preset = "urn:cuejack:plugins:limiter#soft"
  main.chain[0].isolate = true
  main.chain[0].trust = true
  var reverb = SessionBus(name: "reverb")
  reverb.bus = "main"
  reverb.delay = 12.5
  document.buses = [main, reverb]
  document.sends = [SessionSend(name: "hall", bus: "main", to: "239.1.2.3:9700@eth0")]
  document.sends[0].delay = 3
  var take = SessionRecording(
    name: "take", ports: ["system:capture_1", "system:capture_2"], file: "takes/take.flac")
  take.armed = true
  take.format = "flac"
  take.bits = 24
  document.recordings = [take]
  document.connections = [
    SessionConnection(from: "cuejack:out_1", to: "ardour:in 1"),
    SessionConnection(from: "system:midi_capture_1", to: "cuejack:midi_in"),
  ]
  document.controllers = [
    SessionMapping(SessionController("cc7@2")!, to: "tracks[drums].volume"),
    SessionMapping(
      SessionController("nrpn300")!, to: "buses[main].chain[limiter].parameters.drive"),
  ]
  document.controllers[0].low = -40
  document.controllers[0].high = 6
  document.groups = [
    SessionGroup(
      name: "all", tracks: ["drums", "bass"], trigger: .note(SessionMIDINumber("60@10")!))
  ]
  var scene = SessionScene(
    name: "soft",
    values: [
      "tracks[bass].gain": .number(-20), "tracks[1].mute": .flag(true),
      "tracks[bass].pan": .number(-0.5),
      "tracks[drums].chain[amp].parameters.gain": .number(-13.5), "buses[reverb].gain": .number(-3),
    ])
  scene.fade = 250
  scene.program = SessionMIDINumber("3@1")
  document.scenes = [scene]
  document.automation = [
    SessionCurve(
      "buses[main].mute",
      [SessionPoint(.beat(0), .flag(true)), SessionPoint(.beat(4), .flag(false))], .step),
    SessionCurve(
      "tracks[drums].pan",
      [SessionPoint(.seconds(0), .number(-1)), SessionPoint(.frame(48000), .number(1))]),
  ]
  return document
}

/// A random number generator (SplitMix64) that gives the same numbers each time.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}

func parsed(_ text: String) throws(SessionError) -> SessionDocument {
  try SessionStore.parse(Array(text.utf8), path: "session.json")
}

/// The faults of a text's values, as lines.
func faults(in text: String) -> [String] {
  do throws(SessionError) {
    _ = try parsed(text)
    return []
  } catch {
    guard case .faults(_, let faults) = error else { return ["\(error)"] }
    return faults.map(\.description)
  }
}
