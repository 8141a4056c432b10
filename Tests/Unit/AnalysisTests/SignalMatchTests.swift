import FileSupport
import Testing

@testable import Analysis

/// The search for a signal in other sound.
@Suite struct SignalMatchTests {
  private let signal = SignalMatch.noise(frames: 2048, level: 0.25)

  /// Returns `frames` frames of other noise, with the signal added from a frame on.
  private func sound(_ frames: Int, at start: Int, gain: Float, noise: Float) -> [Float] {
    var sound = SignalMatch.noise(frames: frames + 4096, level: noise).dropFirst(4096).map { $0 }
    for (i, sample) in signal.enumerated() { sound[start + i] += gain * sample }
    return sound
  }

  @Test(arguments: [0, 1, 4095, 4096, 10_000, 18_432])
  func theSignalIsFoundOnItsFrame(start: Int) throws {
    let match = try require(
      SignalMatch(of: signal, in: sound(20_480, at: start, gain: -0.5, noise: 0)))
    expectEqual(match.frames, start)
    expectTrue(abs(match.gain + 0.5) < 1e-4 && match.coefficient < -0.999, "\(match)")
  }

  @Test func otherSoundThatIsLouderHidesNothing() throws {
    let match = try require(
      SignalMatch(of: signal, in: sound(20_480, at: 7777, gain: 1, noise: 0.5)))
    expectEqual(match.frames, 7777)
    expectTrue((0.3...0.6).contains(match.coefficient), "\(match)")
  }

  @Test func otherSoundAloneIsNone() throws {
    let noise = sound(20_480, at: 0, gain: 0, noise: 0.5)
    let match = try require(SignalMatch(of: signal, in: noise))
    expectTrue(abs(match.coefficient) < SignalMatch.leastCoefficient, "\(match)")
    expectNil(SignalMatch(of: signal, in: [Float](repeating: 0, count: 4096)))
    expectNil(SignalMatch(of: signal, in: Array(noise.prefix(2047))))
  }
}
