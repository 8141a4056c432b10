import Codecs
import FileSupport
import Foundation
import Testing

@Suite(.tags(.slow)) struct TimePitchTests {
  typealias Setting = TimePitch.Setting

  private static let rate = 48000.0
  private static func sine(_ frequency: Double, frames: Int) -> [Float] {
    (0..<frames).map { Float(0.5 * sin(2 * .pi * frequency * Double($0) / rate)) }
  }

  /// Passes pieces of sound, each with its setting, through one processor, in blocks of `block` frames.
  private func run(
    _ algorithm: TimePitch.Algorithm, _ pieces: [(sound: [Float], setting: Setting)],
    block: Int = 512, channels: Int = 1
  ) throws -> [[Float]] {
    let timePitch = try require(
      TimePitch(algorithm, sampleRate: Self.rate, channels: channels))
    var output = [[Float]](repeating: [], count: channels)
    let planes = Planes(channels: channels, capacity: block)
    let taken = Planes(channels: channels, capacity: 333)
    func take() {
      while true {
        let count = timePitch.take(into: taken.pointers(), room: 333)
        if count == 0 { return }
        let pointers = taken.pointers()
        for channel in 0..<channels {
          output[channel] += UnsafeBufferPointer(start: pointers[channel], count: count)
        }
      }
    }
    for (sound, setting) in pieces {
      var at = 0
      while at < sound.count {
        let count = min(block, sound.count - at)
        let pointers = planes.pointers()
        for channel in 0..<channels {
          for i in 0..<count { pointers[channel][i] = sound[at + i] * Float(channel + 1) }
        }
        try timePitch.put(planes.pointers(), frames: count, setting)
        take()
        at += count
      }
    }
    try timePitch.end()
    take()
    return output
  }

  /// Returns the frequency in Hz, from rising zero crossings away from the ends.
  private func frequency(_ sound: [Float]) -> Double {
    var crossings: [Double] = []
    for i in (sound.count / 10)..<(sound.count * 9 / 10) where sound[i - 1] < 0 && sound[i] >= 0 {
      crossings.append(Double(i) - Double(sound[i] / (sound[i] - sound[i - 1])))
    }
    guard crossings.count > 1 else { return 0 }
    return Self.rate * Double(crossings.count - 1) / (crossings.last! - crossings.first!)
  }

  private static let cases = [0.5, 0.8, 1, 1.37, 2].flatMap { rate in
    [-2400.0, -300, 0, 700, 2400].map { Setting(rate: rate, cents: $0) }
  }.filter { $0 != Setting() }

  #if RubberBand
    @Test(arguments: [TimePitch.Algorithm.spectral, .timeDomain], cases)
    func rateAndPitchAreApart(algorithm: TimePitch.Algorithm, setting: Setting) throws {
      let frames = 3 * 48000 + 17
      let output = try run(algorithm, [(Self.sine(440, frames: frames), setting)])[0]
      expectEqual(output.count, Int((Double(frames) / setting.rate).rounded()))
      let wanted = 440 * exp2(setting.cents / 1200)
      expectTrue(abs(frequency(output) / wanted - 1) < 0.001, "\(frequency(output)), not \(wanted)")
      // The output sounds from the start to the end.
      let tenth = 4800
      for part in [output.prefix(tenth), output.suffix(tenth)] {
        expectTrue((part.map(abs).max() ?? 0) > 0.35)
      }
    }

    @Test func aStepStaysInItsPlace() throws {
      for setting in [Setting(rate: 0.5), Setting(rate: 1.25), Setting(rate: 2, cents: 500)] {
        let sound = [Float](repeating: 0, count: 48000) + Self.sine(440, frames: 48000)
        let output = try run(.spectral, [(sound, setting)])[0]
        let onset = try require(output.firstIndex { abs($0) > 0.25 })
        expectTrue(abs(Double(onset) - 48000 / setting.rate) < 960, "\(onset)")
      }
    }

    @Test func aChangeTakesEffectWhereItIsMade() throws {
      let tone = Self.sine(440, frames: 96000)
      // The length and frequency of each piece show that the change is on the right frame.
      let slow = Setting(rate: 0.5)
      let fast = Setting(rate: 2)
      let output = try run(.spectral, [(tone, slow), (tone, fast)])[0]
      expectEqual(output.count, 2 * 96000 + 96000 / 2)
      expectTrue((output.suffix(2000).map(abs).max() ?? 0) > 0.35)
      let half = [Float](repeating: 0, count: 96000)
      let step = try run(.spectral, [(half, slow), (tone, fast)])[0]
      let onset = try require(step.firstIndex { abs($0) > 0.25 })
      expectTrue(abs(onset - 2 * 96000) < 960, "\(onset)")
    }

    @Test func aLowerPitchLosesNoTail() throws {
      let tone = Self.sine(880, frames: 48000)
      let quiet = [Float](repeating: 0, count: 4000)
      for cents in [-2400.0, 2400] {
        let end = [Float](repeating: 0, count: 44000) + tone.prefix(4000)
        let output = try run(
          .spectral, [(quiet, Setting(cents: 1)), (end, Setting(cents: cents))])[0]
        // The difference is at most the engine's window, once.
        expectTrue(abs(output.count - 52000) < 8192, "\(output.count)")
        expectTrue((output.suffix(2000).map(abs).max() ?? 0) > 0.25, "\(cents)")
        // The audible part has its correct length.
        let sounding = output.count - (output.firstIndex { abs($0) > 0.1 } ?? 0)
        expectTrue(abs(sounding - 4000) < 1500, "\(sounding)")
      }
    }

    @Test func switchingLosesNothing() throws {
      let tone = Self.sine(440, frames: 9600)
      let first = (0..<5000).map { Float($0 + 1) / 8192 }
      for neutral in [Setting(), Setting(rate: 0.5, cents: 700, isBypassed: true)] {
        let output = try run(
          .spectral, [(first, neutral), (tone, Setting(rate: 0.8)), (first, neutral)])[0]
        expectEqual(output.count, 5000 + 12000 + 5000)
        expectEqual(Array(output.prefix(5000)), first)
        expectEqual(Array(output.suffix(5000)), first)
      }
    }

    @Test func channelsAreKeptApart() throws {
      let output = try run(
        .spectral, [(Self.sine(440, frames: 20000), Setting(rate: 1.5))], channels: 2)
      expectTrue(output[0].count == 13333 && output[1].count == 13333)
      let peaks = output.map { $0.map(abs).max() ?? 0 }
      expectTrue(abs(peaks[1] / peaks[0] - 2) < 0.1, "\(peaks)")
    }
  #endif

  @Test(arguments: [0.5, 0.8, 1.25, 2])
  func varispeedTakesThePitchAlong(rate: Double) throws {
    let frames = 48001
    let output = try run(
      .varispeed, [(Self.sine(440, frames: frames), Setting(rate: rate, cents: 700))])[0]
    expectEqual(output.count, Int((Double(frames) / rate).rounded()))
    expectTrue(abs(frequency(output) / (440 * rate) - 1) < 0.001, "\(frequency(output))")
  }

  @Test func thePiecesJoinUp() throws {
    let level = [Float](repeating: 0.5, count: 4096)
    let output = try run(
      .varispeed,
      [
        (level, Setting()), (level, Setting(rate: 2)), (level, Setting(rate: 0.5)),
        (level, Setting()),
      ])[0]
    expectEqual(output.count, 4096 + 2048 + 8192 + 4096)
    expectTrue(output.allSatisfy { abs($0 - 0.5) < 0.01 })
  }

  @Test(arguments: [TimePitch.Algorithm.varispeed])
  func aNeutralSettingChangesNothing(algorithm: TimePitch.Algorithm) throws {
    let sound = (0..<10000).map { Float($0 + 1) / 16384 }
    try expectEqual(run(algorithm, [(sound, Setting())])[0], sound)
    try expectEqual(run(algorithm, [(sound, Setting(cents: 5))])[0], sound)
    try expectEqual(run(algorithm, [(sound, Setting(rate: 2, isBypassed: true))])[0], sound)
    let changing = try run(
      algorithm, [(sound, Setting()), (sound, Setting(rate: 0.75)), (sound, Setting())])[0]
    expectEqual(changing.count, 10000 + 13333 + 10000)
    expectTrue(Array(changing.prefix(10000)) == sound && Array(changing.suffix(10000)) == sound)
  }
}
