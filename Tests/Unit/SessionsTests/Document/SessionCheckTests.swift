import Sessions
import TestSupport
import Testing

@Suite struct SessionCheckTests {
  private func references(_ text: String) throws -> [String] {
    SessionCheck.references(of: try parsed(text)).map(\.description)
  }

  @Test func theSampleHasNoFault() {
    expectTrue(SessionCheck().faults(of: sampleSession()).isEmpty)
  }

  @Test func namesAndReferencesAreChecked() throws {
    try expectEqual(
      references(
        """
        {version: 1,
         tracks: [{name: 'a', file: 'a.wav', bus: 'mian', trimStart: 2, trimEnd: 1},
                  {name: 'a', file: 'b.wav', bus: 'main', ports: ['x:y'], fadeIn: 2, trimEnd: 1,
                   chain: [{id: 'p', uri: 'urn:p'}]}],
         buses: [{name: 'main', bus: 'sub', chain: [{id: 'p', uri: 'urn:q'}]}, {name: 'sub', bus: 'sup'},
                 {name: 'sup', bus: 'main'}, {name: 'self', bus: 'self'}],
         recordings: [{name: 'r', ports: [], file: 'r.wav'}, {name: 's', ports: ['a:b'], file: 'r.wav'},
                      {name: 't', ports: ['a:b'], file: 'b.wav'}],
         connections: [{from: 'a:b', to: 'c:d'}, {from: 'a:b', to: 'c:d'}],
         controllers: [{controller: 'cc1', target: 'tracks[a].volume', low: -200},
                       {controller: 'cc2', target: 'tracks[b].volume'},
                       {controller: 'cc3', target: 'tracks[0].name'},
                       {controller: 'cc4', target: 'transport.bpn'},
                       {controller: 'cc5', target: 'tracks[0].mute', high: 1}],
         groups: [{name: 'g', tracks: ['a', 'c']}, {name: 'h', tracks: ['a']}]}
        """),
      [
        "tracks[1].name: “a” is there twice: tracks[0].name has it, too",
        "buses[0].chain[0].id: “p” is there twice: tracks[1].chain[0].id has it, too",
        "buses[0].chain[0].state: “plugins/p.lv2” is there twice: tracks[1].chain[0].state has it, too",
        "recordings[1].file: “r.wav” is there twice: recordings[0].file has it, too",
        "tracks[0].bus: there is no bus “mian”; did you mean “main”?",
        "tracks[1].ports: it goes to the bus “main” and has no JACK ports of its own to connect",
        "buses[0].bus: the buses feed each other in a cycle: main -> sub -> sup -> main",
        "buses[3].bus: the buses feed each other in a cycle: self -> self",
        "tracks[0].trimEnd: 1 seconds is not after trimStart, 2 seconds",
        "tracks[1].fadeOut: warning: the fades are longer than the 1 seconds that play",
        "recordings[0].ports: warning: there are no ports to record",
        "recordings[2].file: the track “a” plays the file b.wav",
        "groups[0].tracks[1]: there is no track “c”",
        "groups[1].tracks[0]: the group “g” has this track already",
        "controllers[0].low: -200 is out of the target's range: a number, -120 to 24 dB",
        "controllers[1].target: tracks[b].volume: there is no element “b”",
        "controllers[2].target: a controller moves numbers and switches, not a text, 1 to 200 bytes without control characters",
        "controllers[3].target: transport.bpn: unknown key; did you mean “bpm”?",
        "connections[1]: warning: this connection is there twice",
      ])
  }

  @Test func scenesAndCurvesAreChecked() throws {
    try expectEqual(
      references(
        """
        {version: 1,
         tracks: [{name: 'drums', file: 'a.wav', chain: [{id: 'amp', uri: 'urn:p'}]}],
         buses: [{name: 'main'}],
         controllers: [{controller: 'cc1', target: 'buses[0].gain'}],
         scenes: [{name: 'verse', program: '3', values: {
                     'tracks[drum].gain': 0, 'tracks[drums].gian': 0, 'tracks[drums].gain': 25, 'tracks[0].gain': 0,
                     'tracks[drums].mute': 1, 'tracks[drums].pan': true, 'tracks[drums].solo': true,
                     'tracks[drums].chain[amb].parameters.gain': 0, 'tracks[drums].chain[amp].parameters.gain': 1,
                     'buses[main].gain': -1, 'buses[main].pan': 0, 'transport.bpm': 100, name: 1}},
                  {name: 'chorus', program: '3@2'}, {name: 'verse'}],
         automation: [{target: 'buses[main].gain', points: []},
                      {target: 'buses[0].gain', points: [{at: {seconds: 1}, value: 0}]},
                      {target: 'tracks[drums].mute', points: [{at: {beat: 4}, value: true}, {at: {seconds: 1}, value: 0}]},
                      {target: 'tracks[drums].chain[amp].parameters["urn:a#b"]', points: [{at: {frame: 0}, value: 0}]},
                      {target: 'tracks[drums].rate', points: [{at: {frame: 0}, value: 1}]}]}
        """),
      [
        "scenes[2].name: “verse” is there twice: scenes[0].name has it, too",
        "automation[0].points: a curve needs a point",
        "automation[1].target: automation[0] moves this value",
        "automation[2].points[1].at: it is before points[0]",
        "automation[2].points[1].value: a number is not allowed: true or false",
        "automation[3].target: a curve moves controls of plugins, and urn:a#b is a parameter with a URI",
        "automation[4].target: scenes and curves set gains, balances, mutes and parameters of plugins, and tracks[drums].rate is none",
        "scenes[verse].values[\"buses[main].gain\"]: warning: automation[0] moves this value, and the scene leaves it",
        "scenes[verse].values[\"buses[main].pan\"]: buses[0].pan: unknown key: it is none of name, channels, gain, mute, chain, delay, bus, ports",
        "scenes[verse].values.name: scenes and curves set gains, balances, mutes and parameters of plugins, and name is none",
        "scenes[verse].values[\"tracks[drum].gain\"]: tracks[drum].gain: there is no element “drum”; did you mean “drums”?",
        "scenes[verse].values[\"tracks[drums].chain[amb].parameters.gain\"]: tracks[0].chain[amb]: there is no element with this name; did you mean “amp”?",
        "scenes[verse].values[\"tracks[drums].gain\"]: 25 is out of range: -120 to 24 dB",
        "scenes[verse].values[\"tracks[drums].gain\"]: tracks[0].gain is the same value",
        "scenes[verse].values[\"tracks[drums].gian\"]: tracks[0].gian: unknown key; did you mean “gain”?",
        "scenes[verse].values[\"tracks[drums].mute\"]: a number is not allowed: true or false",
        "scenes[verse].values[\"tracks[drums].mute\"]: warning: automation[2] moves this value, and the scene leaves it",
        "scenes[verse].values[\"tracks[drums].pan\"]: true or false is not allowed: a number, -1 to 1",
        "scenes[verse].values[\"tracks[drums].solo\"]: scenes and curves set gains, balances, mutes and parameters of plugins, and tracks[drums].solo is none",
        "scenes[verse].values[transport.bpm]: scenes and curves set gains, balances, mutes and parameters of plugins, and transport.bpm is none",
        "scenes[chorus].program: the scene “verse” has this program, too",
        "controllers[0].target: automation[0] moves this value",
      ])
  }

  @Test func filesPluginsAndFormatsAreAskedFor() {
    var check = SessionCheck()
    check.sound = { name in
      switch name {
      case "audio/drums.wav": .missing
      case "audio/b.wav": .unusable("not a sound file")
      default: .present
      }
    }
    check.state = { _ in .missing }
    check.plugin = { plugin in
      plugin.uri.hasPrefix("urn:")
        ? [SessionFault(.error, SessionPath([.key("uri")]), "it is not installed")] : []
    }
    check.format = { $0.format == "flac" ? "FLAC keeps 16 or 24 bits" : nil }
    expectEqual(
      check.faults(of: sampleSession()).map(\.description),
      [
        "tracks[0].file: warning: there is no audio/drums.wav",
        "tracks[1].file[1]: audio/b.wav: not a sound file",
        "buses[0].chain[0].state: there is no plugins/limiter.lv2",
        "buses[0].chain[0].uri: it is not installed",
        "recordings[0]: FLAC keeps 16 or 24 bits",
      ])
  }

  /// A name is compared with the known ones for as many faults as are listed, and what is left out counts as the worst of it.
  @Test func manyUnknownNamesAreABoundedList() throws {
    let tracks = (0..<100).map { "{name: \"track \($0)\", file: \"a.wav\"}" }
    let groups = (0..<20).map { group in
      let names = (0..<10).map { "\"trakc \(10 * group + $0)x\"" }.joined(separator: ",")
      return "{name: \"g\(group)\", tracks: [\(names)]}"
    }
    let document = try parsed(
      "{version: 1, tracks: [\(tracks.joined(separator: ","))], groups: [\(groups.joined(separator: ","))]}"
    )
    let faults = SessionCheck.references(of: document)
    expectTrue(faults.count == 200 && faults.count { $0.message.contains("did you mean") } == 100)
    let list = SessionFaults(faults).list
    expectTrue(list.count == 101 && list.last?.description == "100 more faults are not listed")
    let warnings = Array(repeating: SessionFault(.warning, .root, "w"), count: 101)
    expectEqual(
      SessionFaults(warnings).list.last?.description, "warning: 1 more fault is not listed")
    expectEqual(SessionFaults(warnings + faults).list.last?.severity, .error)
  }
}
