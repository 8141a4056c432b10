import Foundation
import TestSupport
import Testing

/// `cuejack play` with MIDI and controllers.
@Suite(.tags(.server, .program), .serialized) struct PlayMIDITests {
  private static let amp = "http://lv2plug.in/plugins/eg-amp"
  private static let fifths = "http://lv2plug.in/plugins/eg-fifths"
  private static let midigate = "http://lv2plug.in/plugins/eg-midigate"

  /// One controller is given, another one is learned, and notes pass through.
  @Test func controllersMoveWhatIsPlayed() throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, coding: .f32, channels: 1, frames: 48_000)
      let server = try JackDaemon(period: 256)
      let keys = try Keys(on: server)
      let listener = try Keys(on: server, name: "listener")
      let capture = try CaptureClient(on: server, channels: 1, capacity: 20 * server.rate)
      let at = capture.cycleFrame &+ UInt32(10 * server.rate)
      let player = try Playing(
        [
          file.path, "--at", "\(at)", "--server", server.name, "--connect", "capture:in_1",
          "--plugin", Self.amp, "--plugin", Self.fifths, "--plugin", Self.amp,
          "--map", "cc7@1=1:gain:-20..20", "--learn", "3:gain:-10..10", "--midi-in", "keys:out",
          "--midi-out", "listener:in",
        ], in: folder, environment: pluginEnvironment())
      try player.wait(for: "move a controller for 3:gain:-10.0..10.0")
      try player.wait(for: "start frame")
      // Both controllers move to an end before the sound, and the learned one again within it.
      try keys.play([
        Keys.Message(at &- 5000, [0xb0, 7, 127]), Keys.Message(at &- 4000, [0xb4, 20, 0]),
        Keys.Message(at &+ 10_000, [0xb4, 20, 127]), Keys.Message(at &+ 20_000, [0x90, 60, 100]),
      ])
      capture.arm()
      try capture.setFreewheel(true)
      try require(capture.wait(untilFrames: 1))
      try require(capture.wait(untilFrames: Int(at &- capture.firstFrame) + server.rate))
      try capture.setFreewheel(false)
      capture.disarm()
      let result = try player.result()
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      // Controller 7 on channel 1 moved first.
      expectTrue(result.output.contains("learned: --map cc7@1=3:gain:-10.0..10.0"), "\(result)")
      expectTrue(result.output.contains("cuejack-play:midi_in <- keys:out"), "\(result)")
      expectTrue(result.output.contains("cuejack-play:midi_out -> listener:in"), "\(result)")
      let begin = Int(at &- capture.firstFrame)
      let samples = capture.samples(channel: 0)
      // 20 dB and 10 dB as amplitudes.
      let gain = pow(Float(10), 1) * pow(Float(10), 0.5)
      var wrong = 0
      for frame in 0..<file.frames
      where abs(samples[begin + frame] - file.samples[0][frame] * gain) > 1e-3 { wrong += 1 }
      expectEqual(wrong, 0)
      expectEqual(
        listener.heard.filter { $0.bytes[0] == 0x90 },
        [
          Keys.Message(at &+ 20_000, [0x90, 60, 100]), Keys.Message(at &+ 20_000, [0x90, 67, 100]),
        ])
    }
  }

  @Test(arguments: [
    (["--map", "cc120=1:gain"], "“cc120” is no MIDI controller"),
    (["--map", "cc7"], "“cc7” is no CONTROLLER=PLUGIN:SYMBOL"),
    (["--map", "cc7=gain"], "“gain” is no PLUGIN:SYMBOL"),
    (["--map", "cc7=2:gain"], "--map: there is no plugin 2; they count from 1 to 1"),
    (["--learn", "0:gain"], "--learn: there is no plugin 0"),
    (["--learn", "1:gain", "--render", "x.wav"], "--learn makes no sense with it"),
    (["--midi-in", "a:b", "--render", "x.wav"], "--midi-in makes no sense with it"),
  ])
  func whatMakesNoSenseIsNamed(options: [String], message: String) throws {
    let result = try play(["a.wav", "--plugin", Self.amp] + options)
    expectTrue(result.status == 64 && result.errors.contains(message), "\(result)")
  }

  @Test func whatIsNotThereIsNamed() throws {
    let cases = [
      (["--map", "cc7=1:loud"], "has no such control as “loud”"),
      (["--learn", "1:gain:0..100"], "100.0 is no value for “gain”"),
      (["--midi-in", "keys:out"], "--midi-in: no plugin takes MIDI"),
      (["--midi-out", "keys:in"], "--midi-out: no plugin writes MIDI"),
      (
        ["--map", "cc7=1:gain", "--midi-in", "nobody:out"],
        "--midi-in “nobody:out”: no MIDI output port"
      ),
      (
        ["--map", "cc7=1:gain", "--midi-in", "system:capture_1"],
        "--midi-in “system:capture_1”: no MIDI"
      ),
    ]
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 1000)
      let server = try JackDaemon()
      for (options, message) in cases {
        let result = try play(
          [file.path, "--plugin", Self.amp, "--server", server.name, "--no-connect"] + options,
          environment: ["LV2_PATH": "/usr/lib/lv2", "XDG_CACHE_HOME": folder.path])
        expectTrue(result.status == 1 && result.errors.contains(message), "\(result)")
      }
    }
  }

  @Test(arguments: [
    (["--map", "cc7=1:gain"], "--map is for --plugin"),
    (["--threads", "2"], "--threads is for --plugin"),
    (["--plugin", amp, "--threads", "0"], "--threads takes a number from 1 to 64"),
  ])
  func optionsForPluginsAreChecked(arguments: [String], message: String) throws {
    let result = try play(["a.wav"] + arguments)
    expectTrue(result.status == 64 && result.errors.contains(message), "\(result)")
  }
}
