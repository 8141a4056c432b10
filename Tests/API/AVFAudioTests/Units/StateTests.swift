import AVFoundation
import TestSupport
import Testing

/// States of units as LV2 hosts keep them.
@Suite struct StateTests {
  @Test func aStateIsThatOfLV2() throws {
    try findPlugins()
    try withTemporaryFolder { folder in
      let state = folder.appendingPathComponent("echo")
      let delay = AVAudioUnitDelay()
      expectEqual(delay.lv2URI, "urn:cuejack:plugins:delay")
      delay.delayTime = 0.25
      delay.feedback = -20
      try delay.saveLV2State(to: state)
      let text = text(of: state.appendingPathComponent("state.ttl"))
      expectTrue(text.contains("<urn:cuejack:plugins:delay>"), "\(text)")
      let other = AVAudioUnitDelay()
      try other.loadLV2State(from: state)
      expectTrue(other.delayTime == 0.25 && other.feedback == -20)
      // Another plugin's, a folder without one, and a unit that is no plugin.
      for (unit, place) in [
        (AVAudioUnitEQ(), state), (delay, folder), (AVAudioUnitVarispeed(), state),
      ] as [(AVAudioUnit, URL)] {
        let error = try failure { try unit.loadLV2State(from: place) }
        expectTrue(error.localizedDescription.contains(place.path), "\(error)")
      }
      let unwritable = URL(fileURLWithPath: "/proc/none")
      try expectTrue(
        failure { try delay.saveLV2State(to: unwritable) }.localizedDescription
          .contains("/proc/none"))
      expectNil(AVAudioUnitVarispeed().lv2URI)
    }
  }
}
