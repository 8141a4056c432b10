import CRealTime
import TestSupport
import Testing

/// JACK's transport with the position of a timebase master that is another program.
@Suite struct ForeignTransportTests {
  private func beats(
    perMinute: Double, perBar: Float = 4, unit: Float = 4, ticks: Double = 1920,
    bar: Int32 = 1, beat: Int32 = 1
  ) -> cue_transport {
    var position = jack_position_t()
    position.valid = JackPositionBBT
    position.frame_rate = 48000
    (position.bar, position.beat, position.tick) = (bar, beat, 10)
    position.beats_per_bar = perBar
    position.beat_type = unit
    position.ticks_per_beat = ticks
    position.beats_per_minute = perMinute
    return unsafe cue_rt_read_transport(JackTransportRolling, &position)
  }

  @Test func aTempoIsTaken() {
    let now = beats(perMinute: 120)
    expectTrue(now.has_beats && now.beats_per_minute == 120 && now.beat_unit == 4)
    expectTrue(beats(perMinute: 0.5).has_beats)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, -120, 0, 1e-300, 0.0005, 1e19, 1e300])
  func aTempoThatNoMusicHasIsNone(_ tempo: Double) {
    expectTrue(!beats(perMinute: tempo).has_beats)
    expectTrue(!beats(perMinute: 120, perBar: Float(tempo)).has_beats)
    expectTrue(!beats(perMinute: 120, ticks: tempo > 1 ? .nan : tempo).has_beats)
  }

  @Test(arguments: [Float.nan, .infinity, -4, 0, 0.5, 1e30])
  func aMeterThatNoMusicHasIsNone(_ unit: Float) {
    expectTrue(!beats(perMinute: 120, unit: unit).has_beats)
  }

  @Test(arguments: [Int32.min, -1, 0, .max]) func eachBarCanBeCounted(_ number: Int32) {
    let now = beats(perMinute: 120, bar: number, beat: number)
    expectEqual(now.bar, Int64(number) - 1)
    expectTrue(abs(now.bar_beat - Double(number) + 1) < 0.01)
  }
}
