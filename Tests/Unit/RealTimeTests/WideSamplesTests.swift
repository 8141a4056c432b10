import CRealTime
import Glibc
import RealTime
import TestSupport
import Testing

/// The conversions of `cue_samples.h`, for each instruction set that the processor has. The scalar code of
/// the other byte order says what is right.
@Suite(.serialized) struct WideSamplesTests {
  private static let frames = 130
  static let levels = (0..<cue_samples_levels.rawValue).map { cue_samples_level($0) }
  /// Sample types with a wide conversion: kind and bits.
  private static let kinds: [(PCMFormat.Kind, Int)] = [
    (.signedInteger, 16), (.signedInteger, 24), (.float, 32),
  ]

  /// Makes this processor's best level the one in use again.
  static func useBestLevel() {
    for level in levels.reversed() where cue_samples_use(level) { return }
  }

  private func swapped(_ bytes: [UInt8], width: Int) -> [UInt8] {
    stride(from: 0, to: bytes.count, by: width).flatMap { bytes[$0..<$0 + width].reversed() }
  }

  private func formats(_ channels: Int) -> [(native: PCMFormat, other: PCMFormat)] {
    Self.kinds.map { kind, bits in
      func format(isBigEndian: Bool) -> PCMFormat {
        PCMFormat(
          sampleRate: 48000, channels: channels, kind: kind, bitsPerSample: bits,
          isBigEndian: isBigEndian)
      }
      return (format(isBigEndian: false), format(isBigEndian: true))
    }
  }

  @Test func theBaselineIsAlwaysThere() {
    defer { Self.useBestLevel() }
    expectTrue(cue_samples_use(cue_samples_baseline))
    expectTrue(!cue_samples_use(cue_samples_levels))
  }

  /// Each length up to 130 frames from bytes at any alignment. The page behind the last byte is not
  /// accessible.
  @Test(arguments: [1, 2, 4, 6, 8, 9, 12, 16])
  func everyLengthIsReadAsTheScalarCodeReadsIt(channels: Int) throws {
    defer { Self.useBestLevel() }
    for (native, other) in formats(channels) {
      let (bytes, _) = other.noise(frames: Self.frames, seed: 17)
      let gain = ChannelGain(0.7)
      let expected = try planes(of: bytes, other, frames: Self.frames, gain)
      let nativeBytes = swapped(bytes, width: native.bytesPerSample)
      let layout = try require(native.layout)
      for level in Self.levels where cue_samples_use(level) {
        try withGuardedPage { page in
          var planes = (0..<channels).map { _ in
            UnsafeMutablePointer<Float>.allocate(capacity: Self.frames + 1)
          }
          defer { planes.forEach { $0.deallocate() } }
          for frames in 0...Self.frames {
            let count = frames * native.bytesPerFrame
            for shift in 0..<(frames % 8 == 3 ? 32 : 2) where count + shift <= page.count {
              let source = page.baseAddress! + page.count - count - shift
              nativeBytes.withUnsafeBytes { _ = memcpy(source, $0.baseAddress!, count) }
              planes.forEach { $0.update(repeating: .nan, count: Self.frames + 1) }
              layout.copy(
                source, planeFrames: 0, frames: frames, gain: gain, to: &planes, at: 0)
              for channel in 0..<channels {
                let isRight = memcmp(planes[channel], expected[channel], 4 * frames) == 0
                guard isRight, planes[channel][frames].isNaN else {
                  Issue.record("\(native), level \(level.rawValue), \(frames) frames, \(shift)")
                  return
                }
              }
            }
          }
        }
      }
    }
  }

  /// The same for bytes that are written. Samples are at, between and beyond the steps, and no numbers.
  @Test(arguments: [1, 2, 4, 6, 8, 9, 12, 16])
  func everyLengthIsWrittenAsTheScalarCodeWritesIt(channels: Int) throws {
    defer { Self.useBestLevel() }
    var generator = SplitMix(state: 23)
    let special: [Float] = [
      .nan, .infinity, -.infinity, 1, -1, 0.5 / 0x1p15, 1.5 / 0x1p23, -2.5 / 0x1p15, 3, -3,
    ]
    var planes = (0..<channels).map { _ in
      let plane = UnsafeMutablePointer<Float>.allocate(capacity: Self.frames)
      for i in 0..<Self.frames {
        plane[i] = i % 7 == 3 ? special.randomElement(using: &generator)! : 0
        if i % 7 != 3 { plane[i] = .random(in: -1.01...1.01, using: &generator) }
      }
      return plane
    }
    defer { planes.forEach { $0.deallocate() } }
    for (native, other) in formats(channels) {
      let (layout, scalar) = (try require(native.layout), try require(other.layout))
      var bytes = [UInt8](repeating: 0, count: Self.frames * other.bytesPerFrame)
      bytes.withUnsafeMutableBytes {
        scalar.store(
          from: &planes, at: 0, frames: Self.frames, to: $0.baseAddress!, planeFrames: 0)
      }
      let expected = swapped(bytes, width: native.bytesPerSample)
      for level in Self.levels where cue_samples_use(level) {
        try withGuardedPage { page in
          for frames in 0...Self.frames {
            let count = frames * native.bytesPerFrame
            for shift in 0..<(frames % 8 == 3 ? 32 : 2) where count + shift <= page.count {
              let target = page.baseAddress! + page.count - count - shift
              memset(target, 0xa5, count + shift)
              layout.store(from: &planes, at: 0, frames: frames, to: target, planeFrames: 0)
              let isRight = memcmp(target, expected, count) == 0
              let isWhole = (count..<count + shift).allSatisfy {
                target.load(fromByteOffset: $0, as: UInt8.self) == 0xa5
              }
              guard isRight, isWhole else {
                Issue.record("\(native), level \(level.rawValue), \(frames) frames, \(shift)")
                return
              }
            }
          }
        }
      }
    }
  }

  /// The second channel has a gain of its own, also where the last channels overlap others.
  @Test(arguments: [2, 4, 5, 7, 8, 9, 11, 17]) func theSecondChannelHasItsOwnGain(channels: Int)
    throws
  {
    defer { Self.useBestLevel() }
    for (native, other) in formats(channels) {
      let (bytes, _) = other.noise(frames: 19, seed: 29)
      let gain = ChannelGain(left: 0.25, right: 0.625)
      let expected = try planes(of: bytes, other, frames: 19, gain)
      for level in Self.levels where cue_samples_use(level) {
        let found = try planes(
          of: swapped(bytes, width: native.bytesPerSample), native, frames: 19, gain)
        expectEqual(found, expected, "\(native), level \(level.rawValue)")
      }
    }
  }

  private func planes(
    of bytes: [UInt8], _ format: PCMFormat, frames: Int, _ gain: ChannelGain
  ) throws -> [[Float]] {
    let layout = try require(format.layout)
    var planes = (0..<format.channels).map { _ in
      UnsafeMutablePointer<Float>.allocate(capacity: frames)
    }
    defer { planes.forEach { $0.deallocate() } }
    bytes.withUnsafeBytes {
      layout.copy(
        $0.baseAddress!, planeFrames: 0, frames: frames, gain: gain, to: &planes, at: 0)
    }
    return planes.map { Array(UnsafeBufferPointer(start: $0, count: frames)) }
  }
}
