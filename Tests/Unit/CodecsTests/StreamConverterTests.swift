import Codecs
import FileSupport
import RealTime
import Testing

/// A generator with a long period.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64 = 0x9E37_79B9_7F4A_7C15
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state &* 0x2545_F491_4F6C_DD1D
  }
}

/// Linear PCM in its own memory.
private final class Memory {
  let format: PCMFormat
  let frames: Int
  let isPlanar: Bool
  private let memory: [UnsafeMutableRawPointer]

  init(_ format: PCMFormat, frames: Int, isPlanar: Bool = false) {
    self.format = format
    self.frames = frames
    self.isPlanar = isPlanar
    let buffers = isPlanar ? format.channels : 1
    let bytes = frames * format.bytesPerFrame / buffers
    memory = (0..<buffers).map { _ in
      let address = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes), alignment: 16)
      address.initializeMemory(as: UInt8.self, repeating: 0xA5, count: bytes)
      return address
    }
  }
  deinit { for address in memory { address.deallocate() } }

  var buffers: SampleBuffers { SampleBuffers(format, at: memory)! }

  private func address(_ frame: Int, _ channel: Int) -> UnsafeMutableRawPointer {
    let size = format.bytesPerSample
    return isPlanar
      ? memory[channel] + frame * size : memory[0] + (frame * format.channels + channel) * size
  }

  /// Returns the bytes of a sample in little-endian order.
  private func bytes(_ frame: Int, _ channel: Int) -> [UInt8] {
    let address = address(frame, channel)
    let bytes = (0..<format.bytesPerSample).map { address.load(fromByteOffset: $0, as: UInt8.self) }
    return format.isBigEndian ? bytes.reversed() : bytes
  }

  private func setWord(_ word: UInt64, _ frame: Int, _ channel: Int) {
    let address = address(frame, channel)
    let last = format.bytesPerSample - 1
    for i in 0...last {
      address.storeBytes(
        of: UInt8(truncatingIfNeeded: word >> (8 * UInt64(format.isBigEndian ? last - i : i))),
        toByteOffset: i, as: UInt8.self)
    }
  }

  private var padding: Int {
    format.isHighAligned ? 8 * format.bytesPerSample - format.bitsPerSample : 0
  }

  /// Returns an integer sample, independent of its container size.
  func integer(_ frame: Int, _ channel: Int) -> Int64 {
    let word = bytes(frame, channel).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let bits = UInt64(format.bitsPerSample)
    let value = (word >> UInt64(padding)) & (1 << bits - 1)
    if format.kind == .unsignedInteger { return Int64(value) - 1 << (Int64(bits) - 1) }
    return Int64(bitPattern: value << (64 - bits)) >> (64 - bits)
  }

  func setInteger(_ value: Int64, _ frame: Int, _ channel: Int) {
    let bits = UInt64(format.bitsPerSample)
    let raw = format.kind == .unsignedInteger ? value + 1 << (Int64(bits) - 1) : value
    let mask: UInt64 = padding > 0 ? (1 << bits - 1) : .max
    setWord((UInt64(bitPattern: raw) & mask) << UInt64(padding), frame, channel)
  }

  func float(_ frame: Int, _ channel: Int) -> Double {
    let word = bytes(frame, channel).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return format.bytesPerSample == 8
      ? Double(bitPattern: word) : Double(Float(bitPattern: UInt32(word)))
  }

  func setFloat(_ value: Double, _ frame: Int, _ channel: Int) {
    setWord(
      format.bytesPerSample == 8 ? value.bitPattern : UInt64(Float(value).bitPattern), frame,
      channel)
  }
}

/// Passes all of the input through a converter, in parts on both sides.
private func convert(
  _ converter: StreamConverter, _ from: Memory, to out: Memory, parts: (Int, Int) = (777, 555)
) throws -> Int {
  var total = 0
  var done = 0
  while true {
    // Copy each part to separate memory.
    let count = min(parts.0, from.frames - done)
    let part = Memory(from.format, frames: max(1, count), isPlanar: from.isPlanar)
    for frame in 0..<count {
      for channel in 0..<from.format.channels {
        if from.format.kind == .float {
          part.setFloat(from.float(done + frame, channel), frame, channel)
        } else {
          part.setInteger(from.integer(done + frame, channel), frame, channel)
        }
      }
    }
    done += count
    var source = count > 0 ? StreamConverter.Source.frames(part.buffers, count: count) : .end
    while true {
      let piece = Memory(out.format, frames: parts.1, isPlanar: out.isPlanar)
      var sink = StreamConverter.Sink.frames(piece.buffers, room: parts.1)
      try converter.convert(&source, into: &sink)
      for frame in 0..<sink.count where total + frame < out.frames {
        for channel in 0..<out.format.channels {
          if out.format.kind == .float {
            out.setFloat(piece.float(frame, channel), total + frame, channel)
          } else {
            out.setInteger(piece.integer(frame, channel), total + frame, channel)
          }
        }
      }
      total += sink.count
      if !sink.isFull { break }
    }
    if count == 0 { return total }
  }
}

@Suite struct StreamConverterTests {
  private static let integers: [PCMFormat] = {
    var formats: [PCMFormat] = []
    for (bits, bytes) in [(8, 1), (16, 2), (20, 3), (24, 3), (24, 4), (32, 4)] {
      for kind in [PCMFormat.Kind.signedInteger, .unsignedInteger] {
        for isBig in [false, true] {
          for isHigh in bits < 8 * bytes ? [false, true] : [false] {
            formats.append(
              PCMFormat(
                sampleRate: 48000, channels: 2, kind: kind, bitsPerSample: bits,
                bytesPerSample: bytes, isBigEndian: isBig && bytes > 1, isHighAligned: isHigh))
          }
        }
      }
    }
    return formats
  }()
  private static let floats: [PCMFormat] = [32, 64].flatMap { bits in
    [false, true].map {
      PCMFormat(
        sampleRate: 48000, channels: 2, kind: .float, bitsPerSample: bits, isBigEndian: $0)
    }
  }

  /// Converts an integer of `bits` bits to `other` bits: rounded to the nearest value, ties to even.
  private func nearest(_ value: Int64, _ bits: Int, _ other: Int) -> Int64 {
    if other >= bits { return value << Int64(other - bits) }
    let shift = Int64(bits - other)
    let half = Int64(1) << (shift - 1)
    var rounded = (value + half) >> shift
    if (value + half) & (half * 2 - 1) == 0 { rounded &= ~1 }
    return min(rounded, 1 << Int64(other - 1) - 1)
  }

  @Test(arguments: integers) func integersBecomeTheNearestOnes(from: PCMFormat) throws {
    var numbers = Numbers()
    let frames = 97
    let bits = Int64(from.bitsPerSample)
    let most = Int64(1) << (bits - 1) - 1
    for isPlanar in [false, true] {
      let memory = Memory(from, frames: frames, isPlanar: isPlanar)
      for frame in 0..<frames {
        memory.setInteger(Int64.random(in: -most - 1...most, using: &numbers), frame, 0)
        memory.setInteger([most, -most - 1, 0, -1, most / 2][frame % 5], frame, 1)
      }
      for to in Self.integers {
        let converter = try StreamConverter(from: .pcm(from), to: .pcm(to))
        expectTrue(converter.isImmediate)
        let out = Memory(to, frames: frames, isPlanar: !isPlanar)
        var source = StreamConverter.Source.frames(memory.buffers, count: frames)
        var sink = StreamConverter.Sink.frames(out.buffers, room: frames)
        try converter.convert(&source, into: &sink)
        expectTrue(sink.count == frames && source.isEmpty)
        for frame in 0..<frames {
          for channel in 0...1 {
            let value = memory.integer(frame, channel)
            let expected = nearest(value, from.bitsPerSample, to.bitsPerSample)
            let found = out.integer(frame, channel)
            if found != expected { Issue.record("\(from) to \(to): \(value) became \(found)") }
          }
        }
      }
    }
  }

  @Test(arguments: floats) func floatsStayAsTheyAre(from: PCMFormat) throws {
    var numbers = Numbers()
    let frames = 97
    let memory = Memory(from, frames: frames)
    for frame in 0..<frames {
      memory.setFloat(Double.random(in: -2...2, using: &numbers), frame, 0)
      memory.setFloat([0, 1, -1, 1e-30, -.infinity][frame % 5], frame, 1)
    }
    for to in Self.floats + Self.integers {
      let converter = try StreamConverter(from: .pcm(from), to: .pcm(to))
      let out = Memory(to, frames: frames, isPlanar: true)
      var source = StreamConverter.Source.frames(memory.buffers, count: frames)
      var sink = StreamConverter.Sink.frames(out.buffers, room: frames)
      try converter.convert(&source, into: &sink)
      for frame in 0..<frames {
        for channel in 0...1 {
          let value = memory.float(frame, channel)
          if to.kind == .float {
            let expected = to.bytesPerSample == 8 ? value : Double(Float(value))
            expectEqual(out.float(frame, channel), expected)
          } else {
            let scale = Double(Int64(1) << Int64(to.bitsPerSample - 1))
            let expected = min(max((value * scale).rounded(.toNearestOrEven), -scale), scale - 1)
            let found = Double(out.integer(frame, channel))
            if found != expected { Issue.record("\(from) to \(to): \(value) became \(found)") }
          }
        }
      }
    }
  }

  @Test(arguments: [
    (44100.0, 48000.0), (48000, 44100), (8000, 96000), (96000, 8000), (44100, 11025),
    (22050, 44100), (12345, 54321),
  ])
  func aStreamHasItsLengthTimesTheRatio(from: Double, to: Double) throws {
    var numbers = Numbers()
    for frames in [0, 1, 2, 3, 10, 999, Int.random(in: 1000...9000, using: &numbers)] {
      for options in [Resampler.Quality(.best), Resampler.Quality(.quick)].map({ quality in
        var options = StreamConverter.Options()
        options.quality = quality
        return options
      }) {
        let input = PCMFormat(sampleRate: from, channels: 1, kind: .float, bitsPerSample: 32)
        let output = PCMFormat(sampleRate: to, channels: 1, kind: .float, bitsPerSample: 32)
        let memory = Memory(input, frames: frames)
        for frame in 0..<frames { memory.setFloat(0.5, frame, 0) }
        let converter = try StreamConverter(from: .pcm(input), to: .pcm(output), options)
        let expected = Int((Double(frames) * to / from).rounded())
        let out = Memory(output, frames: expected + 10)
        try expectEqual(convert(converter, memory, to: out), expected)
        // The result after a reset is the same.
        try converter.reset()
        try expectEqual(convert(converter, memory, to: out, parts: (100, 33)), expected)
      }
    }
  }

  @Test func channelsAreMapped() throws {
    func format(_ channels: Int) -> PCMFormat {
      PCMFormat(
        sampleRate: 48000, channels: channels, kind: .signedInteger, bitsPerSample: 32)
    }
    let memory = Memory(format(3), frames: 5)
    for frame in 0..<5 {
      for channel in 0..<3 { memory.setInteger(Int64(100 * frame + channel + 1), frame, channel) }
    }
    func converted(_ channels: Int, _ mix: ChannelMix?) throws -> [[Int64]] {
      var options = StreamConverter.Options()
      options.mix = mix
      let converter = try StreamConverter(
        from: .pcm(format(3)), to: .pcm(format(channels)), options)
      let out = Memory(format(channels), frames: 5)
      try expectEqual(convert(converter, memory, to: out), 5)
      return (0..<5).map { frame in (0..<channels).map { out.integer(frame, $0) } }
    }
    try expectEqual(converted(2, nil), (0..<5).map { [100 * $0 + 1, 100 * $0 + 2] })
    try expectEqual(converted(4, nil)[3], [301, 302, 303, 0])
    try expectEqual(converted(4, .map([2, 2, nil, 0]))[1], [103, 103, 0, 101])
    try expectEqual(converted(1, .mix([[0], [1], [0]]))[2], [202])
    #expect(throws: StreamConverter.Failure.channels) { try converted(1, .map([3])) }
    #expect(throws: StreamConverter.Failure.channels) { try converted(2, .map([0])) }
    #expect(throws: StreamConverter.Failure.channels) { try converted(2, .mix([[1, 1]])) }
  }

  /// A part of the packets decodes to the same samples as the whole, without priming and remainder.
  @Test func aPartOfPacketsIsExact() throws {
    let pcm = PCMFormat(sampleRate: 44100, channels: 1, kind: .signedInteger, bitsPerSample: 16)
    let frames = 20000
    let memory = Memory(pcm, frames: frames)
    var numbers = Numbers()
    for frame in 0..<frames {
      memory.setInteger(Int64.random(in: -3000...3000, using: &numbers), frame, 0)
    }
    let lossless = PacketFormat(codec: .alac, sampleRate: 44100, channels: 1)
    let encoding = try StreamConverter(from: .pcm(pcm), to: .packets(lossless))
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
    defer { bytes.deallocate() }
    var sink = StreamConverter.Sink.packets(bytes, room: .max)
    var source = StreamConverter.Source.frames(memory.buffers, count: frames)
    try encoding.convert(&source, into: &sink)
    var end = StreamConverter.Source.end
    try encoding.convert(&end, into: &sink)
    expectTrue(sink.count == 5 && encoding.encodedFrames == frames)
    expectTrue(encoding.encodedPriming == (0, 5 * 4096 - frames))

    var options = StreamConverter.Options()
    options.cookie = try require(encoding.encoder).cookie
    let decoding = try StreamConverter(from: encoding.output, to: .pcm(pcm), options)
    for (skipped, length) in [(0, frames), (1, 5), (5000, 4096), (4096, 100_000), (19999, 10)] {
      try decoding.restart(skipping: skipped, frames: length)
      let out = Memory(pcm, frames: frames)
      var packets = StreamConverter.Source.packets(UnsafeRawBufferPointer(bytes), sink.extents)
      var result = StreamConverter.Sink.frames(out.buffers, room: frames)
      try decoding.convert(&packets, into: &result)
      end = .end
      try decoding.convert(&end, into: &result)
      expectEqual(result.count, min(length, frames - skipped))
      for frame in 0..<result.count {
        expectEqual(out.integer(frame, 0), memory.integer(skipped + frame, 0))
      }
    }
    // The last packet is short. Trimming frames that it does not have removes no sound.
    options.trailingFrames = 5 * 4096 - frames
    let trimming = try StreamConverter(from: encoding.output, to: .pcm(pcm), options)
    let out = Memory(pcm, frames: frames + 1)
    var packets = StreamConverter.Source.packets(UnsafeRawBufferPointer(bytes), sink.extents)
    var result = StreamConverter.Sink.frames(out.buffers, room: frames + 1)
    try trimming.convert(&packets, into: &result)
    end = .end
    try trimming.convert(&end, into: &result)
    expectEqual(result.count, frames)
  }
}
