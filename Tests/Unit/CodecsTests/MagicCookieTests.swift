import Codecs
import FileSupport
import Foundation
import Testing

@Suite(.tags(.program)) struct MagicCookieTests {
  /// Creates a file with ffmpeg.
  private func file(_ name: String, _ encoder: [String], channels: Int = 2) throws -> (
    bytes: [UInt8], demuxed: Demuxed
  ) {
    let folder = try TemporaryFolder()
    let raw = try folder.write(
      interleaved(music(frames: 5000, channels: channels, bits: 16, rate: 48000)), to: "raw")
    let path = folder.file(name)
    try tool(
      "ffmpeg",
      ["-v", "error", "-f", "f32le", "-ar", "48000", "-ac", "\(channels)", "-i", raw, "-c:a"]
        + encoder + [path])
    return ([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))), try Demuxed(path))
  }

  /// Returns the last MP4 box of a type in a file, with its header.
  private func atom(_ type: String, in bytes: [UInt8]) throws -> [UInt8] {
    let found = try require(
      (4..<bytes.count - 4).last { Array(bytes[$0..<$0 + 4]) == Array(type.utf8) })
    let size = bytes[found - 4..<found].reduce(0) { $0 << 8 | Int($1) }
    return Array(bytes[found - 4..<found - 4 + size])
  }

  private func box(_ type: String, _ contents: [UInt8]) -> [UInt8] {
    [0, 0, 0, UInt8(8 + contents.count)] + Array(type.utf8) + contents
  }

  @Test func theDescriptorOfAACIsApples() {
    // From files of Apple's programs: 128 kbit/s, 44.1 kHz, stereo.
    let expected: [UInt8] = [
      0x03, 0x80, 0x80, 0x80, 0x22, 0x00, 0x00, 0x00, 0x04, 0x80, 0x80, 0x80, 0x14, 0x40, 0x15,
      0x00, 0x18, 0x00, 0x00, 0x01, 0xF4, 0x00, 0x00, 0x01, 0xF4, 0x00, 0x05, 0x80, 0x80, 0x80,
      0x02, 0x12, 0x10, 0x06, 0x80, 0x80, 0x80, 0x01, 0x02,
    ]
    expectEqual(
      MagicCookie.appleCookie(.aac, extradata: [0x12, 0x10], bitRate: 128_000), expected)
    expectEqual(MagicCookie.appleCookie(.aac, extradata: []), [])
  }

  @Test func everyFormOfAACIsRead() throws {
    let (bytes, demuxed) = try file("a.m4a", ["aac"])
    let config = demuxed.extradata
    let atom = try atom("esds", in: bytes)
    let cookie = MagicCookie.appleCookie(.aac, extradata: config)
    // With a dependent stream and a URL.
    var flagged: [UInt8] = [3, 28, 0, 1, 0xC0, 0, 9, 2, 0x61, 0x62, 4, 17, 0x40, 0x15]
    flagged += [UInt8](repeating: 0, count: 11)
    flagged += [5, 2] + config.prefix(2)
    let frma = box("frma", Array("mp4a".utf8))
    let forms: [[UInt8]] = [
      config, atom, Array(atom.dropFirst(8)), Array(atom.dropFirst(12)), cookie,
      [0, 0, 0, 0] + cookie, flagged, frma + atom, box("wave", frma + atom),
    ]
    for form in forms {
      let found = try MagicCookie.extradata(.aac, cookie: form)
      expectEqual(found.prefix(2), config.prefix(2), "\(form)")
    }
  }

  @Test func configurationsOfAACAreRead() throws {
    // Low complexity, 44.1 kHz, stereo.
    let plain = try require(AudioSpecificConfig([0x12, 0x10]))
    expectTrue(plain.objectType == 2 && plain.coreSampleRate == 44100 && plain.channels == 2)
    expectTrue(plain.extendedSampleRate == 0 && plain.coreFramesPerPacket == 1024)
    // The same with an extension that states that there is none.
    try expectEqual(require(AudioSpecificConfig([0x12, 0x10, 0x56, 0xE5, 0x00])), plain)
    // HE-AAC with explicit signalling in both versions, and with backward-compatible signalling.
    let efficient = try require(AudioSpecificConfig([0x2B, 0x92, 0x08, 0x00]))
    expectTrue(efficient.coreSampleRate == 22050 && efficient.extendedSampleRate == 44100)
    expectTrue(
      efficient.objectType == 2 && efficient.channels == 2 && !efficient.hasParametricStereo)
    let parametric = try require(AudioSpecificConfig([0xEB, 0x8A, 0x08, 0x00]))
    expectTrue(parametric.hasParametricStereo && parametric.channels == 1)
    expectTrue(parametric.extendedSampleRate == 44100 && parametric.coreSampleRate == 22050)
    let behind = try require(AudioSpecificConfig([0x13, 0x90, 0x56, 0xE5, 0xA0]))
    expectTrue(behind.coreSampleRate == 22050 && behind.extendedSampleRate == 44100)
    // 960 frames per packet; a rare sample rate; a rate without an index.
    try expectEqual(require(AudioSpecificConfig([0x12, 0x14])).coreFramesPerPacket, 960)
    let odd = try require(AudioSpecificConfig.lowComplexity(sampleRate: 40000, channels: 8))
    try expectEqual(require(AudioSpecificConfig(odd)).coreSampleRate, 40000)
    try expectEqual(require(AudioSpecificConfig(odd)).channels, 8)
    expectEqual(AudioSpecificConfig.lowComplexity(sampleRate: 44100, channels: 2), [0x12, 0x10])
    expectNil(AudioSpecificConfig.lowComplexity(sampleRate: 44100, channels: 9))
    expectTrue(AudioSpecificConfig([]) == nil && AudioSpecificConfig([0x12]) == nil)
    expectNil(AudioSpecificConfig([0x16, 0x90]))
  }

  @Test(arguments: [2, 6]) func everyFormOfAppleLosslessIsRead(channels: Int) throws {
    let (bytes, demuxed) = try file("a.m4a", ["alac"], channels: channels)
    let extradata = demuxed.extradata
    let atom = try atom("alac", in: bytes)
    let bare = Array(atom.dropFirst(12))
    expectTrue(extradata.count == 36 && bare.count == 24)
    let frma = box("frma", Array("alac".utf8))
    let cookie = MagicCookie.appleCookie(.alac, extradata: extradata)
    // With more than two channels a layout follows: kALACChannelLayoutTag_MPEG_5_1_D.
    let layout = box("chan", [0, 0, 0, 0, 0, 124, 0, 6] + [UInt8](repeating: 0, count: 8))
    expectEqual(cookie, bare + (channels == 6 ? layout : []))
    let end: [UInt8] = [0, 0, 0, 8, 0, 0, 0, 0]
    let forms: [[UInt8]] = [
      bare, atom, frma + atom, frma + atom + end, cookie, extradata, box("wave", frma + atom + end),
    ]
    for form in forms {
      try expectEqual(MagicCookie.extradata(.alac, cookie: form), extradata, "\(form)")
    }
    let decoder = try PacketDecoder(
      PacketFormat(codec: .alac, sampleRate: 0, channels: 0), cookie: cookie)
    expectEqual(
      decoder.format,
      PacketFormat(
        codec: .alac, sampleRate: 48000, channels: channels, framesPerPacket: 4096,
        bitsPerSample: 24))
  }

  @Test func everyFormOfFLACIsRead() throws {
    let (bytes, demuxed) = try file(
      "a.mp4", ["flac", "-strict", "-2", "-bits_per_raw_sample", "24"])
    let box = try atom("dfLa", in: bytes)
    let info = demuxed.extradata
    expectEqual(info.count, 34)
    let native = try file("a.flac", ["flac"]).bytes
    for form in [info, box, Array(box.dropFirst(12)), Array("fLaC".utf8) + box.dropFirst(12)] {
      try expectEqual(MagicCookie.extradata(.flac, cookie: form), info, "\(form)")
    }
    // Except for the checksum of the audio data and the packet sizes.
    let found = try MagicCookie.extradata(.flac, cookie: Array(native.prefix(42)))
    expectEqual(found[10..<14], info[10..<14])
    expectEqual(MagicCookie.appleCookie(.flac, extradata: info), Array(box.prefix(50)))
    let decoder = try PacketDecoder(
      PacketFormat(codec: .flac, sampleRate: 0, channels: 0), cookie: box)
    expectTrue(decoder.format.sampleRate == 48000 && decoder.format.channels == 2)
    expectEqual(decoder.format.bitsPerSample, 24)
  }

  @Test func everyFormOfOpusIsRead() throws {
    for channels in [1, 6] {
      let (bytes, demuxed) = try file("a.mp4", ["libopus"], channels: channels)
      let box = try atom("dOps", in: bytes)
      let head = try file("a.ogg", ["libopus"], channels: channels).demuxed.extradata
      expectEqual(String(decoding: head.prefix(8), as: UTF8.self), "OpusHead")
      try expectEqual(MagicCookie.extradata(.opus, cookie: box), head)
      try expectEqual(MagicCookie.extradata(.opus, cookie: head), head)
      try expectEqual(MagicCookie.extradata(.opus, cookie: demuxed.extradata), head)
      expectEqual(MagicCookie.appleCookie(.opus, extradata: box), head)
    }
  }

  @Test func codecsWithoutCookiesHaveNone() throws {
    for codec in [Codec.mp3, .mp2, .ima4, .ulaw, .ac3, .gsm] {
      expectEqual(MagicCookie.appleCookie(codec, extradata: [1, 2, 3]), [])
      try expectEqual(MagicCookie.extradata(codec, cookie: [1, 2, 3]), [])
    }
  }

  @Test func damagedCookiesAreRefused() throws {
    for codec in [Codec.aac, .alac, .flac, .opus, .vorbis] {
      #expect(throws: CodecError.self, "\(codec)") {
        try PacketDecoder(
          PacketFormat(codec: codec, sampleRate: 44100, channels: 2),
          cookie: [UInt8](repeating: 0, count: 23))
      }
    }
    for codec in [Codec.alac, .vorbis] {
      #expect(throws: CodecError.self) {
        try PacketDecoder(PacketFormat(codec: codec, sampleRate: 44100, channels: 2), cookie: [])
      }
    }
    // A packet of 2^31 frames.
    let vast: [UInt8] = [
      0x80, 0, 0, 0, 0, 16, 40, 10, 14, 2, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xAC, 0x44,
    ]
    #expect(throws: CodecError.self) {
      try PacketDecoder(PacketFormat(codec: .alac, sampleRate: 44100, channels: 2), cookie: vast)
    }
  }

  /// Impossible sample rates, declared by a Vorbis header and requested from Opus.
  @Test func wildRatesAreRefusedOrCut() throws {
    let head: [UInt8] =
      [1] + Array("vorbis".utf8) + [0, 0, 0, 0, 2] + [0xFF, 0xFF, 0xFF, 0xFF]
      + [UInt8](repeating: 0, count: 14)
    #expect(throws: CodecError.self) {
      try PacketDecoder(PacketFormat(codec: .vorbis, sampleRate: 44100, channels: 2), cookie: head)
    }
    let tiny = PacketFormat(codec: .opus, sampleRate: 1e-300, channels: 2, framesPerPacket: 960)
    let decoder = try? PacketDecoder(tiny, cookie: [])
    expectTrue((decoder?.format.framesPerPacket ?? 0) <= 1 << 20)
  }

  /// A cookie that is truncated anywhere, or has any byte changed, is accepted or refused.
  @Test func noCookieDoesHarm() throws {
    let cookies: [(Codec, [UInt8])] = [
      (.aac, MagicCookie.appleCookie(.aac, extradata: [0x2B, 0x92, 0x08, 0x00])),
      (.alac, try file("a.m4a", ["alac"], channels: 6).demuxed.extradata),
      (.flac, try file("a.flac", ["flac"]).demuxed.extradata),
      (.opus, try file("a.ogg", ["libopus"], channels: 6).demuxed.extradata),
      (.vorbis, Array(try file("a.ogg", ["libvorbis"]).demuxed.extradata.prefix(600))),
    ]
    var random = SystemRandomNumberGenerator()
    for (codec, cookie) in cookies {
      let format = PacketFormat(codec: codec, sampleRate: 44100, channels: 2)
      for length in 0..<min(100, cookie.count) {
        _ = try? PacketDecoder(format, cookie: Array(cookie.prefix(length)))
      }
      for _ in 0..<100 {
        var changed = cookie
        changed[Int.random(in: 0..<cookie.count, using: &random)] = .random(
          in: 0...255, using: &random)
        _ = MagicCookie.appleCookie(codec, extradata: changed)
        let decoder = try? PacketDecoder(format, cookie: changed)
        [1, 2, 3, 4].withUnsafeBytes { try? decoder?.decode($0) }
      }
    }
  }
}
