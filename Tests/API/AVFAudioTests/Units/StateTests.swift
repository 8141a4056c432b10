import AVFoundation
import TestSupport
import Testing

/// States of units as LV2 hosts keep them.
@Suite struct StateTests {
  private func gain(_ unit: AVAudioUnit) -> Float {
    var value: Float = 0
    AudioUnitGetParameter(unit.audioUnit, 0, kAudioUnitScope_Global, 0, &value)
    return value
  }

  @Test func aStateIsThatOfLV2() throws {
    let description = try plugin(named: "Simple Amplifier")
    try withTemporaryFolder { folder in
      let state = folder.appendingPathComponent("quiet")
      let amplifier = AVAudioUnitEffect(audioComponentDescription: description)
      let uri = "http://lv2plug.in/plugins/eg-amp"
      expectEqual(amplifier.lv2URI, uri)
      AudioUnitSetParameter(amplifier.audioUnit, 0, kAudioUnitScope_Global, 0, -20, 0)
      try amplifier.saveLV2State(to: state)
      let text = text(of: state.appendingPathComponent("state.ttl"))
      expectTrue(text.contains("<\(uri)>") && text.contains("pset:value -20"), "\(text)")
      let other = AVAudioUnitEffect(audioComponentDescription: description)
      expectEqual(gain(other), 0)
      try other.loadLV2State(from: state)
      expectEqual(gain(other), -20)
      let sound = noise(4800)
      let heard = try OfflineEngine().render(sound, through: other, 4800)
      expectTrue(ratio(heard[0].map { $0 * 10 }, to: sound[0]) > 100)
      // A folder without a state, units that are no plugins, a folder that cannot be.
      let none = AVAudioUnitVarispeed()
      expectNil(none.lv2URI)
      for (unit, place) in [(amplifier, folder), (none, state), (AVAudioUnitDelay(), state)] {
        let error = try failure { try unit.loadLV2State(from: place) }
        expectTrue(error.localizedDescription.contains(place.path), "\(error)")
        expectEqual(error.code == -10879, unit != amplifier)
      }
      let unwritable = URL(fileURLWithPath: "/proc/none")
      try expectTrue(
        failure { try amplifier.saveLV2State(to: unwritable) }.localizedDescription
          .contains("/proc/none"))
    }
  }
}
