import AudioToolbox
import Foundation
import TestSupport
import Testing

/// Rate, pitch and level meters of the Swift layer on a running jackd.
@Suite(
  .tags(.server), .serialized, .timeLimit(.minutes(2)),
  .disabled(if: isSanitized, "libjack itself upsets sanitizers"))
struct LevelTests {
  /// Plays a second of a sine of 480 Hz, and returns what was heard.
  private func heard(_ prepare: (PlaybackQueue) throws -> Void) async throws -> [Float] {
    let studio = try Studio()
    let queue = try PlaybackQueue(.pcm(Float.self, sampleRate: 48000, channels: 1))
    try queue.setValue(studio.device, of: .device)
    try prepare(queue)
    try queue.start()
    let sine = (0..<48000).map { (frame: Int) -> Float in
      0.5 * sin(Float(frame % 100) / 100 * 2 * Float.pi)
    }
    try await queue.write(sine)
    try await queue.stopAfterPlaying()
    studio.wait(cycles: 1)
    return studio.heard()[0]
  }

  /// Returns the frequency of a sine in its middle, in Hz.
  private func frequency(_ sound: [Float]) -> Double {
    let middle = sound[(sound.count / 4)..<(sound.count * 3 / 4)]
    let rises = zip(middle, middle.dropFirst()).count { $0 < 0 && $1 >= 0 }
    return Double(rises) * 48000 / Double(middle.count)
  }

  @Test(arguments: PlaybackQueue.TimePitchAlgorithm.allCases)
  func rateAndPitchAreHeard(algorithm: PlaybackQueue.TimePitchAlgorithm) async throws {
    let sound = try await heard { queue in
      try queue.setValue(true, of: .timePitch)
      try queue.setValue(algorithm, of: .timePitchAlgorithm)
      try expectEqual(queue.value(of: .timePitchAlgorithm), algorithm)
      (queue.rate, queue.pitch) = (0.8, 1200)
      expectTrue(queue.rate == 0.8 && queue.pitch == 1200)
    }
    expectTrue(abs(sound.count - 60000) < 3000, "\(sound.count)")
    let wanted = algorithm == .varispeed ? 384.0 : 960
    expectTrue(abs(frequency(sound) - wanted) < 10, "\(frequency(sound))")
  }

  @Test func aBypassedProcessorChangesNothing() async throws {
    let sound = try await heard { queue in
      try queue.setValue(true, of: .timePitch)
      try queue.setValue(true, of: .timePitchBypass)
      queue.pitch = 1200
    }
    expectTrue(abs(frequency(sound) - 480) < 10, "\(frequency(sound))")
  }

  @Test func levelsAreMeasuredOfWhatIsPlayedAndRecorded() throws {
    let studio = try Studio()
    let player = try PlaybackQueue(Float.self, channels: 2) { _, output in
      // A square wave has its peak as its average.
      while output.freeCapacity >= 4 {
        for sample in [0.5, 0.25, -0.5, -0.25] as [Float] { output.append(sample) }
      }
    }
    let recorder = try RecordingQueue(.pcm(Float.self, sampleRate: 48000, channels: 2))
    try player.setValue(studio.device, of: .device)
    try recorder.setValue(studio.device, of: .device)
    let stream = try recorder.start()
    try player.start()
    try studio.feed(player, recorder)
    expectTrue(player.levels == [] && recorder.levels == [])
    try player.setValue(true, of: .levelMetering)
    try recorder.setValue(true, of: .levelMetering)
    func isRight(_ levels: [PlaybackQueue.Level]) -> Bool {
      let wanted: [Float] = [-6.02, -12.04]
      return levels.count == 2
        && zip(levels, wanted).allSatisfy {
          abs($0.peak - $1) < 0.01 && abs($0.average - $1) < 0.01
        }
    }
    try wait(for: "the levels") { isRight(player.levels) && isRight(recorder.levels) }
    #expect(throws: AudioQueueError.self) { try player.setValue([], of: .levels) }
    try player.stop()
    try recorder.stop()
    withExtendedLifetime(stream) {}
  }
}
