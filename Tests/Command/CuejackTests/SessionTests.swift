import FileSupport
import Foundation
import Testing

/// `cuejack session` without a server.
@Suite(.tags(.program)) struct SessionTests {
  let folder: TemporaryFolder
  /// Path of the folder without links or doubled slashes.
  let root: String
  let cuejack: String
  init() throws {
    folder = try TemporaryFolder()
    root = URL(fileURLWithPath: folder.path).resolvingSymlinksInPath().path
    cuejack = try buildFolder() + "/cuejack"
  }

  private func session(_ arguments: String...) throws -> Outcome {
    // Plugins of Debian alone.
    try run("env", ["LV2_PATH=/usr/lib/lv2", cuejack, "session"] + arguments)
  }
  private func sound(_ name: String, _ seconds: Double = 0.5) throws -> String {
    let path = "\(root)/\(name)"
    try FileManager.default.createDirectory(
      at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    let outcome = try run(
      "sox", ["-n", "-r", "48000", "-c", "2", path, "synth", "\(seconds)", "sine", "440"])
    expectEqual(outcome.status, 0, "\(outcome.errors)")
    return path
  }
  private func json(_ outcome: Outcome) throws -> [String: Any] {
    try require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
  }
  private func put(_ text: String, in name: String) throws {
    try FileManager.default.createDirectory(
      atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    try text.write(
      toFile: "\(root)/\(name)/session.json", atomically: false, encoding: .utf8)
  }

  @Test func aSessionIsMadeAddedToAndSet() throws {
    let (drums, bass, end) = try (sound("drums.wav"), sound("audio/bass.flac"), sound("end.wav"))
    let made = try session(
      "new", "\(root)/rig", drums, bass, "--name", "Rig", "--rate", "48000", "--bpm", "96")
    expectEqual(made.status, 0, "\(made.errors)")
    expectEqual(
      made.text, "drums: ../drums.wav\nbass: ../audio/bass.flac\n\(root)/rig/session.json\n")
    let added = try session(
      "add", "\(root)/rig", "--row", drums, end, "--with", "volume=-6", "--with", "start.beat=4")
    expectEqual(added.text, "drums-2: ../drums.wav, ../end.wav\n", "\(added.errors)")
    let set = try session(
      "set", "\(root)/rig", "buses+={name: 'main', ports: ['system:playback_1']}",
      "tracks[drums].bus=main", "tracks[1].volume=-1.5", "name=The rig", "--remove", "tracks[bass]")
    expectTrue(set.status == 0 && set.text.isEmpty && set.errors.isEmpty, "\(set.errors)")
    let shown = try json(session("show", "\(root)/rig", "--json"))
    expectTrue(shown["name"] as? String == "The rig" && shown["sampleRate"] as? Int == 48000)
    let tracks = try require(shown["tracks"] as? [[String: Any]])
    expectEqual(tracks.map { $0["name"] as? String }, ["drums", "drums-2"])
    expectTrue(tracks[0]["bus"] as? String == "main" && tracks[1]["gain"] as? Int == -6)
    expectEqual(tracks[1]["file"] as? [String], ["../drums.wav", "../end.wav"])
    expectEqual((tracks[1]["start"] as? [String: Int]), ["beat": 4])
    let listed = try session("show", "\(root)/rig")
    expectEqual(
      listed.text,
      """
      The rig
        96 beats per minute, 4/4, 48000 Hz
        track drums: ../drums.wav, to main
        track drums-2: ../drums.wav ../end.wav, -6 dB
        bus main: to system:playback_1

      """)
  }

  @Test func aWrongValueChangesNothing() throws {
    let drums = try sound("drums.wav")
    _ = try session("new", "\(root)/rig", drums)
    let before = try Data(contentsOf: URL(fileURLWithPath: "\(root)/rig/session.json"))
    for (arguments, message) in [
      (
        ["tracks[drums].volume=-6", "tracks[drums].level=1"],
        "cuejack: tracks[drums].level: unknown key; did you mean “gain”?\n"
      ),
      (["tracks[drums].bus=main"], "cuejack: tracks[0].bus: there is no bus “main”\n"),
      (["tracks[bass].mute=true"], "cuejack: tracks[bass]: there is no element with this name\n"),
    ] {
      let outcome = try run(cuejack, ["session", "set", "\(root)/rig"] + arguments)
      expectTrue(outcome.status == 1 && outcome.errors == message, "\(outcome.errors)")
    }
    let none = try session("add", "\(root)/rig", "\(root)/none.wav")
    expectTrue(none.status == 1 && none.errors.contains("none.wav"), "\(none.errors)")
    let text = try session("add", "\(root)/rig", "\(root)/rig/session.json")
    expectTrue(text.status == 1 && text.errors.contains("session.json"), "\(text.errors)")
    for arguments in [[drums, "\(root)/none.wav"], [drums, "--with", "gian=1"]] {
      let failed = try run(cuejack, ["session", "new", "\(root)/other"] + arguments)
      expectEqual(failed.status, 1)
      expectTrue(!FileManager.default.fileExists(atPath: "\(root)/other"))
    }
    let second = try session("new", "\(root)/rig")
    expectEqual(second.status, 1)
    expectEqual(second.errors, "cuejack: \(root)/rig/session.json exists already\n")
    try expectEqual(session("set", "\(root)/rig").status, 64)
    try expectEqual(Data(contentsOf: URL(fileURLWithPath: "\(root)/rig/session.json")), before)
  }

  @Test func aSyntaxErrorIsNamedWithLineAndColumn() throws {
    try put("{\n  version: 1,\n  tracks: [{name: 'a' file: 'b'}]\n}", in: "rig")
    let outcome = try session("check", "\(root)/rig")
    expectTrue(outcome.status == 1 && outcome.text == "\(root)/rig: 1 fault\n", "\(outcome)")
    expectEqual(
      outcome.errors, "cuejack: \(root)/rig/session.json:3:23: “,” or “}” is missing; found “f”\n")
    let report = try json(session("check", "\(root)/rig", "--json"))
    let fault = try require((report["faults"] as? [[String: Any]])?.first)
    expectTrue(fault["line"] as? Int == 3 && fault["column"] as? Int == 23)
    try expectEqual(session("show", "\(root)/rig").status, 1)
  }

  @Test func everyFaultOfASessionIsListed() throws {
    _ = try sound("rig/a.wav")
    try put(
      """
      {version: 1,
       tracks: [{name: 'a', file: 'a.wav', bus: 'man',
                 chain: [{id: 'amp', uri: 'http://lv2plug.in/plugins/eg-amp', state: 'plugins/amp.lv2',
                          parameters: {gain: 30, gian: 1}, preset: 'urn:none'},
                         {id: 'none', uri: 'urn:cuejack:none'}]},
                {name: 'b', file: ['session.json', 'missing.wav']}],
       buses: [{name: 'main'}],
       recordings: [{name: 'r', ports: ['a:b'], file: 'r.wav', format: 'opus'},
                    {name: 's', ports: ['a:b'], file: 's.xyz'},
                    {name: 't', ports: ['a:b'], file: 't.flac', bits: 8},
                    {name: 'u', ports: ['a:b'], file: 'u.wav', format: 'wav'}]}
      """, in: "rig")
    let outcome = try session("check", "\(root)/rig")
    expectEqual(outcome.status, 1)
    let lines = outcome.errors.split(separator: "\n").map {
      $0.replacingOccurrences(of: "cuejack: \(root)/rig/session.json: ", with: "")
    }
    let beginnings = [
      "tracks[0].bus: there is no bus “man”; did you mean “main”?",
      "tracks[1].file[0]: session.json: \(root)/rig/session.json: ",
      "tracks[1].file[1]: warning: there is no missing.wav",
      "tracks[0].chain[0].state: there is no plugins/amp.lv2",
      "tracks[0].chain[0].preset: the plugin has no preset urn:none",
      "tracks[0].chain[0].parameters.gain: 30 is out of the control's range, -90 to 24 dB",
      "tracks[0].chain[0].parameters.gian: the plugin has no such control; did you mean “gain”?",
      "tracks[0].chain[1].uri: no plugin <urn:cuejack:none> is installed",
      "recordings[0]: r.wav: WAVE files cannot hold Opus", "recordings[1]: s.xyz: ",
      "recordings[2]: t.flac: ", "recordings[3]: there is no format “wav”, but ",
    ]
    expectEqual(lines.count, beginnings.count, "\(outcome.errors)")
    for (line, beginning) in zip(lines, beginnings) {
      expectTrue(line.hasPrefix(beginning), "\(line)")
    }
    expectEqual(outcome.text, "\(root)/rig: 12 faults\n")
    let report = try json(session("check", "\(root)/rig", "--json", "--no-plugins"))
    expectEqual((report["faults"] as? [[String: Any]])?.count, 8)
  }

  /// What a run would refuse is refused when it is set.
  @Test func valuesOfPluginsAreCheckedWhenTheyAreSet() throws {
    _ = try session("new", "\(root)/rig", sound("a.wav"))
    let chain = "tracks[0].chain"
    let amp = "{id: 'amp', uri: 'http://lv2plug.in/plugins/eg-amp'}"
    try expectEqual(session("set", "\(root)/rig", "\(chain)+=\(amp)").status, 0)
    let before = try session("show", "\(root)/rig", "--json").text
    for (value, words) in [
      ("\(chain)[amp].parameters.gian=6", "no such control; did you mean “gain”?"),
      ("\(chain)[amp].parameters.gain=600", "600 is out of the control's range, -90 to 24 dB"),
      ("\(chain)[amp].preset=urn:none", "the plugin has no preset urn:none"),
      ("\(chain)+={id: 'none', uri: 'urn:cuejack:none'}", "no plugin <urn:cuejack:none>"),
    ] {
      let outcome = try session("set", "\(root)/rig", value)
      expectTrue(outcome.status == 1 && outcome.errors.contains(words), "\(outcome.errors)")
    }
    try expectEqual(session("show", "\(root)/rig", "--json").text, before)
    try expectEqual(session("set", "\(root)/rig", "\(chain)[amp].parameters.gain=6").status, 0)
    // A fault that the session had before does not stand in the way of its repair.
    try put(
      """
      {version: 1, tracks: [{name: 'a', file: 'a.wav', chain: [
        {id: 'amp', uri: 'http://lv2plug.in/plugins/eg-amp', parameters: {gain: 99}}]}]}
      """, in: "old")
    try expectEqual(session("set", "\(root)/old", "\(chain)[amp].bypass=true").status, 0)
  }

  @Test func warningsAloneAreNoFailure() throws {
    try put("{version: 1, tracks: [{name: 'a', file: 'missing.wav'}]}", in: "rig")
    let outcome = try session("check", "\(root)/rig")
    expectTrue(
      outcome.status == 0 && outcome.errors.contains("warning: there is no missing.wav"),
      "\(outcome)")
    let none = try session("check", "\(root)/nothing")
    expectEqual(none.status, 1)
    expectEqual(none.errors, "cuejack: cannot open \(root)/nothing: No such file or directory\n")
  }

  @Test func aSessionIsDrawn() throws {
    _ = try session("new", "\(root)/rig", sound("a tone.wav", 2))
    _ = try session("set", "\(root)/rig", "tracks[0].ports=['system:playback_1']")
    let dot = try session("show", "\(root)/rig", "--dot")
    expectTrue(dot.text.contains("label=\"a tone\\na tone.wav\"") && dot.text.contains("n0 -> n1;"))
    let svg = try session("show", "\(root)/rig", "--svg")
    expectTrue(svg.text.contains("<svg "))
    // A waveform has a point at each pixel.
    expectTrue(svg.text.split(separator: "\n").contains { $0.utf8.count > 10_000 })
    let picture = "\(root)/rig.png"
    try expectEqual(session("show", "\(root)/rig", "-o", picture).status, 0)
    expectTrue(try run("ffprobe", ["-v", "error", "-f", "png_pipe", picture]).errors.isEmpty)
    let again = try session("show", "\(root)/rig", "--output", picture)
    expectTrue(again.status == 1 && again.errors.contains("--force"), "\(again.errors)")
    try expectEqual(session("show", "\(root)/rig", "--png", "-o", picture, "--force").status, 0)
    expectTrue(try session("show", "\(root)/rig", "--pdf").output.starts(with: Data("%PDF".utf8)))
    try expectEqual(session("show", "\(root)/rig", "--png", "--pdf").status, 64)
    try expectEqual(session("show", "\(root)/rig", "-o", "\(root)/rig.jpg").status, 64)
  }

  /// The first of two fonts of Debian has no Hebrew letters, the second one has.
  @Test func aCharacterThatAFontLacksComesFromAnotherOne() throws {
    _ = try session("new", "\(root)/rig", sound("a.wav", 1))
    func drawn(_ name: String, _ fonts: [String]) throws -> Data {
      _ = try session("set", "\(root)/rig", "tracks[0].name='\(name)'")
      let files = fonts.map { "<glob>/usr/share/fonts/truetype/dejavu/\($0).ttf</glob>" }.joined()
      try """
      <fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir><cachedir>\(root)/fonts</cachedir>
      <selectfont><rejectfont><glob>*</glob></rejectfont><acceptfont>\(files)</acceptfont></selectfont>
      <match><edit name="family" mode="prepend" binding="strong"><string>DejaVu Sans Mono</string></edit></match>
      </fontconfig>
      """.write(toFile: "\(root)/fonts.conf", atomically: false, encoding: .utf8)
      let picture = try run(
        "\(buildFolder())/cuejack", ["session", "show", "\(root)/rig", "--png"],
        environment: ["FONTCONFIG_FILE": "\(root)/fonts.conf"])
      expectTrue(picture.status == 0 && picture.errors.isEmpty, "\(picture.errors)")
      return picture.output
    }
    let (one, both) = (["DejaVuSansMono"], ["DejaVuSansMono", "DejaVuSans"])
    try expectEqual(drawn("Größe", one), drawn("Größe", both))
    expectTrue(try drawn("שלום", one) != drawn("שלום", both))
  }

  @Test func filesAreCollected() throws {
    let (first, second) = try (sound("a/kick.wav"), sound("b/kick.wav", 1))
    try "secret".write(toFile: "\(root)/secret", atomically: false, encoding: .utf8)
    try put(
      "{version: 1, tracks: [{name: 'a', file: '../a/kick.wav'}, {name: 'b', file: '\(second)'}]}",
      in: "rig")
    let outcome = try session("collect", "\(root)/rig", "--json")
    expectEqual(outcome.status, 0, "\(outcome.errors)")
    let items = try require(
      try JSONSerialization.jsonObject(with: outcome.output) as? [[String: Any]])
    expectEqual(items.map { $0["file"] as? String }, ["audio/kick.wav", "audio/kick-2.wav"])
    expectEqual(items.map { $0["source"] as? String }, [first, second])
    expectTrue(
      FileManager.default.contentsEqual(atPath: second, andPath: "\(root)/rig/audio/kick-2.wav"))
    try expectEqual(session("check", "\(root)/rig").status, 0)
    try put("{version: 1, tracks: [{name: 'a', file: '../secret'}]}", in: "other")
    let refused = try session("collect", "\(root)/other")
    expectTrue(
      refused.status == 1 && refused.errors.contains("\(root)/secret: "), "\(refused.errors)")
    expectTrue(!FileManager.default.fileExists(atPath: "\(root)/other/audio/secret"))
  }

  /// The examples of the repository, with the sounds of `cuejack demo`.
  @Test(arguments: ["duo", "mix", "record", "scenes"]) func theExamplesHaveNoFault(name: String)
    throws
  {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    try expectEqual(run(cuejack, ["demo", "\(root)/demo"]).status, 0)
    try FileManager.default.copyItem(
      atPath: repository.appendingPathComponent("sessions/\(name)").path, toPath: "\(root)/\(name)")
    // The plugins of the repository need not be built.
    let outcome = try session("check", "\(root)/\(name)", "--no-plugins")
    expectTrue(outcome.text == "\(root)/\(name): no faults\n" && outcome.errors.isEmpty)
  }
}
