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
