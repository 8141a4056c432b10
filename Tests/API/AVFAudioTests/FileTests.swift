import AVFoundation
import TestSupport
import Testing

@Suite struct FileTests {
  /// A kind of file, and how well it keeps a sound: the ratio in dB, or infinity for 16 bits or more.
  struct Kind: Sendable, CustomStringConvertible {
    let name: String
    let format: AudioFormatID
    let keeps: Double
    var bits = 0
    var isBig = false
    var description: String { "\(name), \(bits) bits" }

    var settings: [String: Any] {
      var settings: [String: Any] = [
        AVFormatIDKey: format, AVSampleRateKey: 48000, AVNumberOfChannelsKey: 2,
      ]
      if bits > 0 {
        settings[AVLinearPCMBitDepthKey] = bits
        settings[AVLinearPCMIsFloatKey] = bits > 31
        settings[AVLinearPCMIsBigEndianKey] = isBig
      }
      return settings
    }
  }

  static let pcm = kAudioFormatLinearPCM
  static let kinds: [Kind] = [
    Kind(name: "a.wav", format: pcm, keeps: .infinity, bits: 16),
    Kind(name: "a.wav", format: pcm, keeps: .infinity, bits: 24),
    Kind(name: "a.wav", format: pcm, keeps: .infinity, bits: 32),
    Kind(name: "a.wav", format: pcm, keeps: .infinity, bits: 64),
    Kind(name: "a.wav", format: pcm, keeps: 35, bits: 8),
    Kind(name: "a.aiff", format: pcm, keeps: .infinity, bits: 16, isBig: true),
    Kind(name: "a.aifc", format: pcm, keeps: .infinity, bits: 32, isBig: true),
    Kind(name: "a.caf", format: pcm, keeps: .infinity, bits: 32),
    Kind(name: "a.m4a", format: kAudioFormatAppleLossless, keeps: .infinity),
    Kind(name: "a.flac", format: kAudioFormatFLAC, keeps: .infinity),
    Kind(name: "a.caf", format: kAudioFormatAppleLossless, keeps: .infinity),
    Kind(name: "a.m4a", format: kAudioFormatMPEG4AAC, keeps: 15),
    Kind(name: "a.mp3", format: kAudioFormatMPEGLayer3, keeps: 10),
    Kind(name: "a.opus", format: kAudioFormatOpus, keeps: 10),
  ]

  private func within(_ body: (URL) throws -> Void) throws { try withTemporaryFolder(body) }

  /// Writes a sound in buffers of different lengths.
  private func write(_ sound: [[Float]], to file: AVAudioFile) throws {
    var next = 0
    var length = 1
    while next < sound[0].count {
      let part = next..<min(next + length, sound[0].count)
      // The capacity is larger than what is valid.
      try file.write(
        from: AVAudioPCMBuffer(sound.map { Array($0[part]) }, file.processingFormat, room: 4096))
      next = part.upperBound
      length = length * 3 % 4001
    }
    expectTrue(file.length == sound[0].count && file.framePosition == file.length)
  }

  private func read(_ url: URL) throws -> [[Float]] {
    let file = try AVAudioFile(forReading: url)
    let buffer = try require(
      AVAudioPCMBuffer(
        pcmFormat: file.processingFormat, frameCapacity: AVAudioFrameCount(file.length + 100)))
    try file.read(into: buffer)
    expectEqual(AVAudioFramePosition(buffer.frameLength), file.length)
    return buffer.channels
  }

  @Test(arguments: kinds) func whatIsWrittenIsRead(kind: Kind) throws {
    try within { folder in
      let url = folder.appendingPathComponent(kind.name)
      let sound = kind.keeps == .infinity ? noise(20001) : tones(20001, [440, 1000])
      do {
        let file = try AVAudioFile(forWriting: url, settings: kind.settings)
        expectTrue(file.url == url && file.isOpen && file.processingFormat == .standard())
        expectEqual(file.fileFormat.streamDescription.pointee.mFormatID, kind.format)
        try write(sound, to: file)
      }
      let file = try AVAudioFile(forReading: url)
      expectTrue(file.length == 20001 && file.processingFormat == .standard())
      expectEqual(file.fileFormat.streamDescription.pointee.mFormatID, kind.format)
      if kind.bits > 0 {
        expectEqual(file.fileFormat.streamDescription.pointee.mBitsPerChannel, UInt32(kind.bits))
      }
      let heard = try read(url)
      if kind.keeps == .infinity {
        expectEqual(heard, sound)
      } else {
        for channel in 0..<2 { expectTrue(ratio(heard[channel], to: sound[channel]) > kind.keeps) }
      }
    }
  }

  @Test(arguments: kinds) func anyFrameIsFoundInAnyCodec(kind: Kind) throws {
    try within { folder in
      let url = folder.appendingPathComponent(kind.name)
      do {
        let file = try AVAudioFile(forWriting: url, settings: kind.settings)
        try write(tones(40000, [440, 3000]), to: file)
      }
      let whole = try read(url)
      let file = try AVAudioFile(forReading: url)
      let buffer = try require(
        AVAudioPCMBuffer(pcmFormat: file.processingFormat, frameCapacity: 700))
      for start in [0, 1, 39999, 12345, 12344, 20480, 3] {
        file.framePosition = AVAudioFramePosition(start)
        expectTrue(file.framePosition == start)
        try file.read(into: buffer)
        let count = min(700, 40000 - start)
        expectTrue(buffer.frameLength == count && file.framePosition == start + count)
        for channel in 0..<2 {
          let difference = zip(buffer.channels[channel], whole[channel][start..<start + count])
            .map { abs($0 - $1) }.max()!
          expectTrue(difference < (kind.keeps == .infinity ? 1e-9 : 1e-4), "from frame \(start)")
        }
      }
      for (position, wanted) in [(-5, 0), (.max, 40000), (.min, 0)] as [(Int64, Int64)] {
        file.framePosition = position
        expectEqual(file.framePosition, wanted)
      }
    }
  }

  @Test func theEndThrowsAndLeavesNothing() throws {
    try within { folder in
      let url = folder.appendingPathComponent("a.wav")
      let sound = noise(1000)
      do {
        let file = try AVAudioFile(forWriting: url, settings: Self.kinds[0].settings)
        try write(sound, to: file)
      }
      let file = try AVAudioFile(forReading: url)
      let buffer = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 600))
      try file.read(into: buffer, frameCount: 0)
      expectEqual(buffer.frameLength, 0)
      try file.read(into: buffer, frameCount: 200)
      expectTrue(buffer.channels == sound.map { Array($0[..<200]) } && file.framePosition == 200)
      // More than fits.
      try file.read(into: buffer, frameCount: 5000)
      expectEqual(buffer.channels, sound.map { Array($0[200..<800]) })
      try file.read(into: buffer)
      expectEqual(buffer.channels, sound.map { Array($0[800...]) })
      let error = try failure { try file.read(into: buffer) }
      expectTrue(error.domain == "Foundation._GenericObjCError" && error.code == 0)
      expectTrue(buffer.frameLength == 0 && file.framePosition == 1000)
    }
  }

  /// Trap 10 of the plan.
  @Test func theSettingsOfABufferMakeAFile() throws {
    try within { folder in
      let url = folder.appendingPathComponent("a.wav")
      let buffer = AVAudioPCMBuffer(noise(1234), room: 5000)
      var settings = buffer.format.settings
      expectEqual(settings[AVLinearPCMIsNonInterleaved] as? Bool, true)
      for (key, value) in settings {
        settings[key] = (value as? NSNumber).flatMap { Int(exactly: $0.doubleValue) } ?? value
      }
      do {
        let file = try AVAudioFile(forWriting: url, settings: settings)
        expectTrue(
          file.fileFormat.isInterleaved && file.fileFormat.commonFormat == .pcmFormatFloat32)
        try file.write(from: buffer)
      }
      try expectEqual(read(url), noise(1234))
    }
  }

  @Test func aFileHasTheCommonFormatThatWasAskedFor() throws {
    try within { folder in
      let url = folder.appendingPathComponent("a.caf")
      let sound = noise(500)
      do {
        let file = try AVAudioFile(
          forWriting: url, settings: Self.kinds[7].settings, commonFormat: .pcmFormatInt16,
          interleaved: true)
        expectEqual(file.processingFormat, .shorts())
        let buffer = try require(AVAudioPCMBuffer(pcmFormat: .shorts(), frameCapacity: 500))
        buffer.frameLength = 500
        for frame in 0..<500 {
          for channel in 0..<2 {
            buffer.int16ChannelData![channel][2 * frame] = Int16(sound[channel][frame] * 32768)
          }
        }
        try file.write(from: buffer)
      }
      try expectEqual(read(url), sound)
      let file = try AVAudioFile(
        forReading: url, commonFormat: .pcmFormatInt32, interleaved: false)
      let buffer = try require(
        AVAudioPCMBuffer(pcmFormat: file.processingFormat, frameCapacity: 500))
      try file.read(into: buffer)
      expectEqual(buffer.int32ChannelData![1][77], Int32(sound[1][77] * 0x1p31))
    }
  }

  @Test func theTypeComesFromItsKeyBeforeTheName() throws {
    try within { folder in
      let url = folder.appendingPathComponent("a.wav")
      var settings = Self.kinds[7].settings
      settings[AVAudioFileTypeKey] = kAudioFileCAFType
      do {
        let file = try AVAudioFile(forWriting: url, settings: settings)
        try file.write(from: AVAudioPCMBuffer(noise(10)))
      }
      try expectEqual(Data(contentsOf: url).prefix(4), Data("caff".utf8))
      try expectEqual(read(url), noise(10))
    }
  }

  @Test func settingsReachTheEncoder() throws {
    try within { folder in
      func bytes(_ settings: [String: Any]) throws -> Int {
        let url = folder.appendingPathComponent("a.m4a")
        do {
          let file = try AVAudioFile(
            forWriting: url,
            settings: settings.merging([
              AVFormatIDKey: kAudioFormatMPEG4AAC, AVSampleRateKey: 48000, AVNumberOfChannelsKey: 2,
            ]) { $1 })
          try file.write(from: AVAudioPCMBuffer(noise(48000)))
        }
        return try Data(contentsOf: url).count
      }
      let (low, high) = try (
        bytes([AVEncoderBitRateKey: 64000]), bytes([AVEncoderBitRateKey: 192_000])
      )
      expectTrue(abs(Double(high) / Double(low) - 3) < 0.6, "\(low), \(high) bytes")
      try expectEqual(bytes([AVEncoderBitRatePerChannelKey: 96000]), high)
      let variable = [AVEncoderBitRateStrategyKey: AVAudioBitRateStrategy_Variable] as [String: Any]
      let sizes = try [AVAudioQuality.low, .max].map { quality in
        try bytes(variable.merging([AVEncoderAudioQualityForVBRKey: quality.rawValue]) { $1 })
      }
      expectTrue(sizes[1] > 2 * sizes[0])
      expectTrue(try bytes([AVEncoderAudioQualityKey: AVAudioQuality.high.rawValue]) > 0)
    }
  }

  @Test(arguments: [
    ("a.wav", kAudioFormatLinearPCM), ("a.caf", kAudioFormatLinearPCM),
    ("a.m4a", kAudioFormatMPEG4AAC), ("a.m4a", kAudioFormatAppleLossless),
    ("a.flac", kAudioFormatFLAC),
  ])
  func channelsKeepTheirRoles(name: String, id: AudioFormatID) throws {
    try within { folder in
      let url = folder.appendingPathComponent(name)
      // C L R Ls Rs LFE, whose order no file but CAF keeps.
      let layout = AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_MPEG_5_1_D)!
      let format = AVAudioFormat(standardFormatWithSampleRate: 48000, channelLayout: layout)
      let sound = tones(9600, [440, 550, 660, 770, 880, 60])
      do {
        let settings = format.settings.merging([AVFormatIDKey: id]) { $1 }
        let file = try AVAudioFile(forWriting: url, settings: settings)
        expectEqual(file.processingFormat, format)
        try file.write(from: AVAudioPCMBuffer(sound, format))
      }
      let file = try AVAudioFile(forReading: url)
      let read = try require(
        AVAudioPCMBuffer(pcmFormat: file.processingFormat, frameCapacity: 9600))
      try file.read(into: read)
      expectTrue(file.fileFormat.channelLayout != nil)
      // A converter puts the channels into the first order.
      let converter = try require(AVAudioConverter(from: file.processingFormat, to: format))
      let ordered = try require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 9600))
      try converter.convert(to: ordered, from: read)
      for channel in 0..<6 {
        let decibels = ratio(ordered.channels[channel], to: sound[channel])
        expectTrue(decibels > 10, "channel \(channel): \(decibels) dB")
      }
    }
  }

  @Test func channelsWithoutRolesKeepTheirOrder() throws {
    try within { folder in
      for channels in [4, 12] as [AVAudioChannelCount] {
        let format = AVAudioFormat.standard(48000, channels)
        let sound = noise(100, channels: Int(channels))
        let url = folder.appendingPathComponent("a.caf")
        do {
          var settings = format.settings
          settings[AVChannelLayoutKey] = channels == 4 ? nil : settings[AVChannelLayoutKey]
          let file = try AVAudioFile(forWriting: url, settings: settings)
          try file.write(from: AVAudioPCMBuffer(sound, file.processingFormat))
        }
        try expectEqual(read(url), sound)
      }
    }
  }

  // MARK: Closing

  @Test func aClosedFileIsComplete() throws {
    try within { folder in
      for kind in [Self.kinds[0], Self.kinds[11]] {
        let url = folder.appendingPathComponent(kind.name)
        let file = try AVAudioFile(forWriting: url, settings: kind.settings)
        try write(tones(3000, [440, 1000]), to: file)
        file.close()
        file.close()
        expectTrue(!file.isOpen && file.length == 3000)
        try expectEqual(read(url)[0].count, 3000)
        try expectEqual(
          failure { try file.write(from: AVAudioPCMBuffer(noise(1))) }.code,
          Int(kExtAudioFileError_InvalidOperationOrder))
        let reading = try AVAudioFile(forReading: url)
        reading.close()
        let buffer = AVAudioPCMBuffer(noise(1))
        try expectEqual(
          failure { try reading.read(into: buffer) }.code,
          Int(kExtAudioFileError_InvalidOperationOrder))
        expectEqual(reading.length, 3000)
      }
    }
  }

  @Test func aFileWithoutSoundIsOneThatEndsAtOnce() throws {
    try within { folder in
      let url = folder.appendingPathComponent("a.wav")
      try AVAudioFile(forWriting: url, settings: Self.kinds[0].settings).close()
      let file = try AVAudioFile(forReading: url)
      expectEqual(file.length, 0)
      let buffer = AVAudioPCMBuffer(noise(1))
      try expectEqual(failure { try file.read(into: buffer) }.code, 0)
    }
  }

  /// Kinds of each container and way of writing, in files of their own.
  static let killed = [0, 7, 8, 9, 11, 13].map { (kinds[$0], "\($0)-\(kinds[$0].name)") }

  @Test func aKilledProcessLosesLessThanASecond() async throws {
    try await withTemporaryFolder { folder in
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
        let files = try FileTests.killed.map { kind, name in
          try AVAudioFile(
            forWriting: URL(fileURLWithPath: "\(path)/\(name)"), settings: kind.settings)
        }
        for part in 0..<3 {
          if part > 0 { usleep(800_000) }
          for file in files { try file.write(from: AVAudioPCMBuffer(tones(24000, [440, 1000]))) }
        }
        kill(getpid(), SIGKILL)
      }
      for (kind, name) in Self.killed {
        let file = try AVAudioFile(forReading: folder.appendingPathComponent(name))
        expectTrue(file.length > 64000, "\(kind): \(file.length) frames")
        let buffer = try require(
          AVAudioPCMBuffer(pcmFormat: file.processingFormat, frameCapacity: 24000))
        try file.read(into: buffer)
        expectTrue(ratio(buffer.channels[1], to: tones(24000, [1000])[0]) > 10, "\(kind)")
      }
    }
  }

  // MARK: Bad input

  @Test func filesThatCannotBeReadSayWhy() throws {
    try within { folder in
      let junk = folder.appendingPathComponent("junk.wav")
      try Data("no sound at all".utf8).write(to: junk)
      let empty = folder.appendingPathComponent("empty.wav")
      try Data().write(to: empty)
      for (url, words) in [
        (folder.appendingPathComponent("none.wav"), "no such file"), (folder, "directory"),
        (junk, "not a sound file"), (empty, "empty"),
      ] {
        let error = try failure { _ = try AVAudioFile(forReading: url) }
        expectTrue(error.domain == "com.apple.coreaudio.avfaudio" && error.code != 0)
        let text = error.localizedDescription
        expectTrue(
          text.contains(url.path) && text.localizedCaseInsensitiveContains(words), "\(text)")
      }
      let web = try failure { _ = try AVAudioFile(forReading: URL(string: "https://a.b/c.wav")!) }
      expectTrue(web.localizedDescription.contains("https://a.b/c.wav"))
    }
  }

  @Test func filesThatCannotBeWrittenSayWhyAndStayAsTheyAre() throws {
    try within { folder in
      for (name, changes, words) in [
        ("a.xyz", [:], AVAudioFileTypeKey), ("a", [:], AVAudioFileTypeKey),
        ("a.wav", [AVAudioFileTypeKey: 1], AVAudioFileTypeKey),
        ("a.wav", [AVFormatIDKey: 77], "format"),
        ("a.wav", [AVSampleRateKey: "x"], AVSampleRateKey),
        ("a.wav", [AVSampleRateKey: 0], "format"),
        ("a.wav", [AVNumberOfChannelsKey: 1000], "format"),
        ("a.wav", [AVLinearPCMIsBigEndianKey: true], "a.wav"),
        ("a.m4a", [:], "a.m4a"), ("a.flac", [AVFormatIDKey: kAudioFormatMPEG4AAC], "a.flac"),
        ("a.opus", [AVFormatIDKey: kAudioFormatOpus, AVSampleRateKey: 44100], "a.opus"),
        ("a.wav", [AVChannelLayoutKey: Data([1])], AVChannelLayoutKey),
        (
          "a.m4a", [AVFormatIDKey: kAudioFormatMPEG4AAC, AVEncoderBitRateStrategyKey: "x"],
          AVEncoderBitRateStrategyKey
        ),
      ] as [(String, [String: Any], String)] {
        let url = folder.appendingPathComponent(name)
        try Data("kept".utf8).write(to: url)
        let error = try failure {
          _ = try AVAudioFile(
            forWriting: url, settings: Self.kinds[0].settings.merging(changes) { $1 })
        }
        expectTrue(error.domain == "com.apple.coreaudio.avfaudio" && error.code != 0)
        let text = error.localizedDescription
        expectTrue(text.contains(url.path) && text.contains(words), "\(changes): \(text)")
        try expectEqual(Data(contentsOf: url), Data("kept".utf8), "\(changes)")
      }
      let url = folder.appendingPathComponent("none/a.wav")
      let error = try failure {
        _ = try AVAudioFile(forWriting: url, settings: Self.kinds[0].settings)
      }
      expectTrue(error.localizedDescription.contains(url.path))
      let other = folder.appendingPathComponent("b.wav")
      expectTrue(
        try failure {
          _ = try AVAudioFile(
            forWriting: other, settings: Self.kinds[0].settings, commonFormat: .otherFormat,
            interleaved: false)
        }.localizedDescription.contains(other.path))
    }
  }

  @Test func buffersOfOtherFormatsAreRefused() throws {
    try within { folder in
      let url = folder.appendingPathComponent("a.wav")
      let file = try AVAudioFile(forWriting: url, settings: Self.kinds[0].settings)
      for format in [AVAudioFormat.standard(44100), .standard(48000, 1), .shorts()] {
        let buffer = try require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 10))
        let error = try failure { try file.write(from: buffer) }
        expectTrue(error.code == -50 && error.localizedDescription.contains(url.path))
      }
      let buffer = AVAudioPCMBuffer(noise(10))
      try expectEqual(
        failure { try file.read(into: buffer) }.code, Int(kExtAudioFileError_InvalidOperationOrder))
      try file.write(from: buffer)
      file.close()
      let reading = try AVAudioFile(forReading: url)
      try expectEqual(
        failure { try reading.write(from: buffer) }.code,
        Int(kExtAudioFileError_InvalidOperationOrder))
      let mono = AVAudioPCMBuffer(noise(10, channels: 1))
      try expectEqual(failure { try reading.read(into: mono) }.code, -50)
    }
  }
}
