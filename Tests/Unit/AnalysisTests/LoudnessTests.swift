import Analysis
import FileSupport
import Files
import Foundation
import RealTime
import Sessions
import System
import Testing

/// Loudness and true peak against FFmpeg's own implementation, its filter `ebur128`.
@Suite(.tags(.program)) struct LoudnessTests {
  /// A sound that FFmpeg makes.
  struct Sound: Sendable, CustomStringConvertible {
    let name: String
    /// Words that come before the file in FFmpeg's command line.
    let source: [String]
    var description: String { name }

    init(_ name: String, _ graph: String, _ more: [String] = []) {
      self.name = name
      source = ["-f", "lavfi", "-i", graph] + more
    }
  }

  static let sounds = [
    Sound("mono.wav", "sine=f=997:r=48000:d=5,volume=-6dB"),
    // Noise up to a quarter of the rate, as music is; it becomes louder.
    Sound(
      "stereo.flac",
      "anoisesrc=r=44100:d=8:a=0.2:seed=5,lowpass=f=9000:p=2,lowpass=f=9000:p=2,"
        + "aeval=val(0)*(0.1+t/9)|val(0)*0.3:c=stereo"),
    Sound("fast.wav", "sine=f=440:r=96000:d=5,aeval=val(0)*2|val(0)*sin(3*t):c=stereo"),
    Sound(
      "surround.wav",
      "aevalsrc=0.2*sin(2*PI*500*t)|0.1*sin(2*PI*700*t)|0.3*sin(2*PI*900*t)|0.5*sin(2*PI*50*t)"
        + "|0.2*sin(2*PI*1200*t)|0.15*sin(2*PI*2000*t):c=5.1:s=48000:d=4"),
    Sound(
      "side.wav",
      "aevalsrc=0.2*sin(2*PI*500*t)|0|0|0.5*sin(2*PI*50*t)|0.3*sin(2*PI*1200*t)|0"
        + ":c=5.1(side):s=48000:d=4"),
    // Half of the samples are at 45 degrees: the true peak is 3 dB above the samples.
    Sound(
      "between.wav",
      "aevalsrc=0.7*sin(2*PI*12000*t+PI/4):s=48000:d=3,afade=d=0.2,afade=t=out:st=2.8:d=0.2",
      ["-c:a", "pcm_f32le"]),
  ]

  /// What FFmpeg's filter finds: loudness, and the greatest true peak in decibels.
  private func expected(_ path: String) throws -> (loudness: Double, peak: Double) {
    let outcome = try tool(
      "ffmpeg",
      [
        "-v", "error", "-i", path, "-af",
        "ebur128=peak=true:metadata=1,ametadata=print:file=-", "-f", "null", "-",
      ])
    let text = outcome.text
    func last(_ key: String) throws -> Double {
      let line = text.split(separator: "\n").last { $0.hasPrefix("lavfi.r128.\(key)=") }
      return try require(line.flatMap { Double($0.split(separator: "=")[1]) }, "\(key)")
    }
    let peaks = text.split(separator: "\n").filter { $0.hasPrefix("lavfi.r128.true_peaks_ch") }
      .compactMap { Double($0.split(separator: "=")[1]) }
    return (try last("I"), 20 * log10(try require(peaks.max())))
  }

  private func measured(_ path: String) throws -> SoundFigures {
    let reader = try SoundReader.floats(path: path)
    let meter = try require(
      LoudnessMeter(
        channels: reader.format.channels, sampleRate: reader.format.sampleRate,
        roles: reader.file.decodedChannelRoles))
    try reader.forEachSamples { samples in
      meter.add(samples)
      _ = meter.latest
    }
    let (exact, latest) = (meter.figures, meter.latest)
    expectTrue(exact.momentary != nil && exact.momentary == latest.momentary)
    expectEqual(exact.truePeak, latest.truePeak)
    for (one, other) in [
      (exact.integrated, latest.integrated), (exact.shortTerm, latest.shortTerm),
    ] {
      expectTrue(abs(try require(one) - (try require(other))) < 2)
    }
    return exact
  }

  @Test(arguments: sounds) func figuresAreThoseOfFFmpeg(sound: Sound) throws {
    let folder = try TemporaryFolder()
    let path = folder.file(sound.name)
    try tool("ffmpeg", ["-v", "error", "-y"] + sound.source + [path])
    let wanted = try expected(path)
    let figures = try measured(path)
    let loudness = try require(figures.integrated)
    expectTrue(abs(loudness - wanted.loudness) < 0.1, "\(loudness) instead of \(wanted.loudness)")
    let peak = try require(decibels(figures.truePeak))
    expectTrue(abs(peak - wanted.peak) < 0.1, "\(peak) instead of \(wanted.peak)")
  }

  /// The first case of EBU Tech 3342: 20 seconds at -20 dB and 20 at -30 dB have a range of 10 LU.
  @Test func theRangeIsThatOfTheStandard() throws {
    let meter = try require(LoudnessMeter(channels: 2, sampleRate: 8000))
    for amplitude in [0.1, 0.0316] as [Float] {
      // A second that is repeated: 1000 periods.
      var second = (0..<16000).map { amplitude * sin(Float.pi / 4 * Float($0 / 2)) }
      for _ in 0..<20 { second.withUnsafeMutableBufferPointer { meter.add($0) } }
    }
    expectTrue(abs(try require(meter.figures.range) - 10) < 0.2)
  }

  @Test func silenceAndShortSoundsHaveNoLoudness() throws {
    let meter = try require(LoudnessMeter(channels: 2, sampleRate: 48000))
    var silence = [Float](repeating: 0, count: 2 * 48000)
    silence.withUnsafeMutableBufferPointer { meter.add($0) }
    expectTrue(meter.figures.integrated == nil && meter.figures.momentary == nil)
    expectTrue(meter.figures.truePeak == 0 && decibels(0) == nil)
    let short = try require(LoudnessMeter(channels: 1, sampleRate: 48000))
    var loud = [Float](repeating: 0.5, count: 1000)
    loud.withUnsafeMutableBufferPointer { short.add($0) }
    expectTrue(short.figures.integrated == nil && short.figures.samplePeak == 0.5)
  }

  /// Samples that are not finite would stay in the filters forever.
  @Test func samplesThatAreNotFiniteCountAsSilence() throws {
    let meter = try require(LoudnessMeter(channels: 1, sampleRate: 48000))
    var sound = (0..<96000).map { 0.5 * sin(Float($0) * 0.13) }
    sound.replaceSubrange(0..<2, with: [.nan, .infinity])
    sound[2] = 1
    sound[3] = -1.5
    sound[4] = 32767.0 / 32768
    sound[5] = 32766.0 / 32768
    sound.withUnsafeMutableBufferPointer { meter.add($0) }
    expectTrue(abs(try require(meter.figures.integrated) + 9) < 1)
    expectTrue(meter.figures.clippedSamples == 3 && meter.figures.samplePeak == 1.5)
  }

  @Test func whatLibebur128CannotMeasureIsRefused() {
    expectNil(LoudnessMeter(channels: 1, sampleRate: 8))
    expectNil(LoudnessMeter(channels: 65, sampleRate: 48000))
    expectTrue(LoudnessMeter(channels: 1, sampleRate: 8000) != nil)
  }
}
