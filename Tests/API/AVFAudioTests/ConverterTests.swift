import AVFoundation
import TestSupport
import Testing

@Suite struct ConverterTests {
  /// Feeds a sound to a converter in pieces, and returns what it gives, and how many calls gave each status.
  private func convert(
    _ sound: [[Float]], by converter: AVAudioConverter, piece: Int, room: AVAudioFrameCount,
    runsDry: Bool = false
  ) throws -> (sound: [[Float]], ends: Int, calls: [AVAudioConverterOutputStatus]) {
    var (next, isDry, ends) = (0, false, 0)
    var heard = [[Float]](repeating: [], count: Int(converter.outputFormat.channelCount))
    var calls: [AVAudioConverterOutputStatus] = []
    while calls.last != .endOfStream {
      let output = try require(
        AVAudioPCMBuffer(pcmFormat: converter.outputFormat, frameCapacity: room))
      output.frameLength = room
      var error: NSError?
      let status = converter.convert(to: output, error: &error) { _, status in
        if runsDry {
          isDry.toggle()
          if isDry {
            status.pointee = .noDataNow
            return nil
          }
        }
        guard next < sound[0].count else {
          ends += 1
          status.pointee = .endOfStream
          return nil
        }
        let part = next..<min(next + piece, sound[0].count)
        next = part.upperBound
        status.pointee = .haveData
        return AVAudioPCMBuffer(sound.map { Array($0[part]) }, converter.inputFormat)
      }
      if status == .error { throw try require(error) }
      calls.append(status)
      for (channel, samples) in output.channels.enumerated() { heard[channel] += samples }
    }
    return (heard, ends, calls)
  }

  /// Trap 9 of the plan.
  @Test func piecesGiveTheSameBitsAsTheWhole() throws {
    let sound = noise(30001)
    for (from, to) in [(48000, 16000), (48000, 44100), (44100, 48000)] as [(Double, Double)] {
      let (input, output) = (AVAudioFormat.standard(from), AVAudioFormat.standard(to))
      let whole = try convert(
        sound, by: require(AVAudioConverter(from: input, to: output)), piece: 30001, room: 40000)
      let pieces = try convert(
        sound, by: require(AVAudioConverter(from: input, to: output)), piece: 1023, room: 700,
        runsDry: true)
      expectEqual(whole.sound, pieces.sound)
      expectEqual(whole.sound[0].count, Int((30001 * to / from).rounded()))
      // The end is asked for once, also if the converter is called again.
      expectTrue(whole.ends == 1 && pieces.ends == 1)
      expectEqual(whole.calls, [.haveData, .endOfStream])
      expectTrue(pieces.calls.contains(.inputRanDry))
    }
  }

  @Test func rateConversionIsBetterThan100dB() throws {
    let sound = tones(48000, [997, 4999])
    for rate in [16000, 44100, 96000] as [Double] {
      let converter = try require(AVAudioConverter(from: .standard(), to: .standard(rate)))
      let heard = try convert(sound, by: converter, piece: 4096, room: 4096).sound
      let wanted = tones(heard[0].count, [997, 4999], rate: rate)
      for channel in 0..<2 {
        // The filter reaches over both ends.
        let middle = 500..<heard[0].count - 500
        expectTrue(ratio(heard[channel][middle], to: wanted[channel][middle]) > 100, "\(rate)")
      }
    }
  }

  @Test func afterTheEndOnlyAResetBeginsAnotherStream() throws {
    let converter = try require(AVAudioConverter(from: .standard(), to: .standard(24000)))
    let sound = noise(4000)
    let first = try convert(sound, by: converter, piece: 1000, room: 5000)
    let output = try require(AVAudioPCMBuffer(pcmFormat: .standard(24000), frameCapacity: 100))
    for _ in 0..<2 {
      let status = converter.convert(to: output, error: nil) { _, _ in
        Issue.record("the block is called after its end")
        return nil
      }
      expectTrue(status == .endOfStream && output.frameLength == 0)
    }
    converter.reset()
    try expectEqual(convert(sound, by: converter, piece: 1000, room: 5000).sound, first.sound)
    // The same holds where nothing is held back.
    let plain = try require(AVAudioConverter(from: .standard(), to: .standard()))
    let copied = try convert(sound, by: plain, piece: 999, room: 700)
    expectTrue(copied.sound == sound && copied.ends == 1)
  }

  @Test func aDryInputGivesWhatIsThere() throws {
    let converter = try require(AVAudioConverter(from: .standard(), to: .standard()))
    let output = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 100))
    for answer in [nil, AVAudioPCMBuffer([[], []])] {
      var calls = 0
      let status = converter.convert(to: output, error: nil) { packets, status in
        calls += 1
        expectEqual(packets, (calls == 1 ? 100 : 60))
        status.pointee = .haveData
        return calls == 1 ? AVAudioPCMBuffer(noise(40)) : answer
      }
      expectTrue(status == .inputRanDry && output.frameLength == 40 && output.channels == noise(40))
    }
  }

  @Test func inputThatIsLeftOverIsKept() throws {
    let converter = try require(AVAudioConverter(from: .standard(), to: .standard()))
    let sound = noise(250)
    let output = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 100))
    var isGiven = false
    var heard: [Float] = []
    for frames in [100, 100, 50] {
      let status = converter.convert(to: output, error: nil) { _, status in
        status.pointee = isGiven ? .noDataNow : .haveData
        defer { isGiven = true }
        return isGiven ? nil : AVAudioPCMBuffer(sound)
      }
      expectEqual(status, (frames == 100 ? .haveData : .inputRanDry))
      heard += output.channels[1]
    }
    expectEqual(heard, sound[1])
  }

  @Test func buffersOfOneRateAreConvertedAtOnce() throws {
    let sound = noise(1000)
    let there = try require(AVAudioConverter(from: .standard(), to: .shorts()))
    let shorts = try require(AVAudioPCMBuffer(pcmFormat: .shorts(), frameCapacity: 1000))
    try there.convert(to: shorts, from: AVAudioPCMBuffer(sound))
    expectEqual(shorts.frameLength, 1000)
    expectEqual(shorts.int16ChannelData![1][6], Int16(sound[1][3] * 32768))
    let back = try require(AVAudioConverter(from: .shorts(), to: .standard()))
    let floats = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 2000))
    try back.convert(to: floats, from: shorts)
    expectEqual(floats.channels, sound)
  }

  @Test func whatCannotBeConvertedAtOnceThrows() throws {
    let input = AVAudioPCMBuffer(noise(1000))
    func code(_ to: AVAudioFormat, _ output: AVAudioPCMBuffer) throws -> Int {
      let converter = try require(AVAudioConverter(from: .standard(), to: to))
      let error = try failure { try converter.convert(to: output, from: input) }
      expectEqual(error.domain, NSOSStatusErrorDomain)
      expectTrue(error.localizedDescription.hasPrefix("AVAudioConverter.convert: "))
      return error.code
    }
    let slow = try require(AVAudioPCMBuffer(pcmFormat: .standard(24000), frameCapacity: 1000))
    try expectEqual(code(.standard(24000), slow), -50)
    let small = try require(AVAudioPCMBuffer(pcmFormat: .shorts(), frameCapacity: 999))
    try expectEqual(code(.shorts(), small), -50)
    // Of another format than the converter's.
    try expectEqual(code(.shorts(), AVAudioPCMBuffer(noise(1000))), -50)
    let converter = try require(AVAudioConverter(from: .shorts(), to: .standard()))
    var error: NSError?
    let output = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 10))
    let status = converter.convert(to: output, error: &error) { _, status in
      status.pointee = .haveData
      return input
    }
    expectTrue(status == .error && error?.code == -50 && error?.domain == NSOSStatusErrorDomain)
  }

  @Test func aConverterThatCannotBeIsNil() {
    expectNil(AVAudioConverter(from: .absent, to: .standard()))
    expectNil(AVAudioConverter(from: .standard(1, 1), to: .standard(96000, 1)))
    expectNil(AVAudioConverter(from: .standard(), to: .packets(kAudioFormatAMR, 8000, 1)))
  }

  // MARK: Channels

  private func channels(
    _ input: [Float], to output: AVAudioFormat,
    setUp: (AVAudioConverter) -> Void = { _ in }
  ) throws -> [Float] {
    let from = AVAudioFormat.standard(48000, AVAudioChannelCount(input.count))
    let converter = try require(AVAudioConverter(from: from, to: output))
    setUp(converter)
    let buffer = try require(AVAudioPCMBuffer(pcmFormat: output, frameCapacity: 1))
    try converter.convert(to: buffer, from: AVAudioPCMBuffer(input.map { [$0] }, from))
    return buffer.channels.map { $0[0] }
  }

  @Test func channelsAreMappedInOrder() throws {
    try expectEqual(channels([0.25], to: .standard()), [0.25, 0.25])
    try expectEqual(channels([1, -0.5], to: .standard(48000, 1)), [1])
    try expectEqual(channels([1, 2], to: .standard(48000, 3)), [1, 2, 0])
    let swapped = try channels([1, -0.5], to: .standard()) {
      expectEqual($0.channelMap, [0, 1])
      $0.channelMap = [1, -1]
      expectEqual($0.channelMap, [1, -1])
      // What cannot be changes nothing.
      $0.channelMap = [2, 0]
      $0.channelMap = [0]
      expectEqual($0.channelMap, [1, -1])
    }
    expectEqual(swapped, [-0.5, 0])
    // By the roles that the layouts name.
    let other = AVAudioFormat(
      standardFormatWithSampleRate: 48000,
      channelLayout: AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_MPEG_5_1_D)!)
    // L R C LFE Ls Rs to C L R Ls Rs LFE.
    try expectEqual(channels([1, 2, 3, 4, 5, 6], to: other), [3, 1, 2, 5, 6, 4])
  }

  /// Trap 3 of the plan, as far as converters mix.
  @Test func aDownmixHasAllChannels() throws {
    let mono = try channels([1, -0.5], to: .standard(48000, 1)) {
      expectTrue(!$0.downmix)
      $0.downmix = true
      expectTrue($0.downmix)
    }
    expectEqual(mono, [0.25])
    let half = Float(0.5).squareRoot()
    let whole = 1 + 2 * half
    for (input, output) in [
      ([1, 0, 0, 0, 0, 0], [1, 0]), ([0, 1, 0, 0, 0, 0], [0, 1]),
      ([0, 0, 1, 0, 0, 0], [half, half]), ([0, 0, 0, 1, 0, 0], [0, 0]),
      ([0, 0, 0, 0, 1, 0], [half, 0]), ([0, 0, 0, 0, 0, 1], [0, half]),
    ] as [([Float], [Float])] {
      let heard = try channels(input, to: .standard()) { $0.downmix = true }
      for (heard, gain) in zip(heard, output) { expectTrue(abs(heard - gain / whole) < 1e-6) }
    }
    try expectEqual(channels([0.5], to: .standard()) { $0.downmix = true }, [0.5, 0.5])
    let neither = try channels([0.5], to: .standard()) {
      $0.downmix = true
      $0.downmix = false
    }
    expectEqual(neither, [0.5, 0.5])
  }

  // MARK: Codecs

  @Test(
    arguments: [
      (kAudioFormatMPEG4AAC, 25), (kAudioFormatOpus, 20), (kAudioFormatAppleLossless, 90),
      (kAudioFormatFLAC, 90), (kAudioFormatULaw, 30),
    ] as [(AudioFormatID, Double)])
  func codecsGoBothWays(id: AudioFormatID, quality: Double) throws {
    let sound = tones(48000, [440, 1000])
    let coded = AVAudioFormat.packets(id)
    let encoder = try require(AVAudioConverter(from: .standard(), to: coded))
    expectTrue(encoder.maximumOutputPacketSize > 0)
    if id == kAudioFormatMPEG4AAC { encoder.bitRate = 192_000 }
    var packets: [AVAudioCompressedBuffer] = []
    var next = 0
    var status = AVAudioConverterOutputStatus.haveData
    while status != .endOfStream {
      let buffer = AVAudioCompressedBuffer(
        format: coded, packetCapacity: id == kAudioFormatULaw ? 4096 : 8,
        maximumPacketSize: encoder.maximumOutputPacketSize)
      var error: NSError?
      status = encoder.convert(to: buffer, error: &error) { wanted, status in
        let part = next..<min(next + max(1, Int(wanted)), 48000)
        next = part.upperBound
        status.pointee = part.isEmpty ? .endOfStream : .haveData
        return part.isEmpty ? nil : AVAudioPCMBuffer(sound.map { Array($0[part]) })
      }
      try require(status != .error, "\(error as Any)")
      if buffer.packetCount > 0 { packets.append(buffer) }
    }
    let priming = Int(encoder.primeInfo.leadingFrames)

    coded.magicCookie = encoder.magicCookie
    let decoder = try require(AVAudioConverter(from: coded, to: .standard()))
    expectEqual(decoder.magicCookie, coded.magicCookie)
    var heard: [[Float]] = [[], []]
    var left = packets[...]
    status = .haveData
    while status != .endOfStream {
      let output = try require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 5000))
      var error: NSError?
      status = decoder.convert(to: output, error: &error) { _, status in
        status.pointee = left.isEmpty ? .endOfStream : .haveData
        return left.popFirst()
      }
      try require(status != .error, "\(error as Any)")
      for channel in 0..<2 { heard[channel] += output.channels[channel] }
    }
    for channel in 0..<2 {
      let sound = heard[channel].dropFirst(priming).prefix(48000)
      expectTrue(ratio(sound, to: tones(48000, [440, 1000])[channel]) > quality)
    }
  }

  @Test func encodersTellWhatTheyCan() throws {
    let aac = try require(
      AVAudioConverter(from: .standard(), to: .packets(kAudioFormatMPEG4AAC)))
    expectEqual(aac.bitRateStrategy, AVAudioBitRateStrategy_LongTermAverage)
    aac.bitRateStrategy = AVAudioBitRateStrategy_Variable
    expectEqual(aac.bitRateStrategy, AVAudioBitRateStrategy_Variable)
    aac.bitRateStrategy = AVAudioBitRateStrategy_Constant
    expectEqual(aac.bitRateStrategy, AVAudioBitRateStrategy_LongTermAverage)
    aac.bitRate = 96000
    expectTrue(aac.bitRate == 96000 && aac.applicableEncodeBitRates?.contains(96000) == true)
    expectEqual(aac.availableEncodeBitRates?.contains(96000), true)
    expectEqual(aac.availableEncodeSampleRates?.contains(44100), true)
    expectEqual(aac.applicableEncodeSampleRates?.contains(48000), true)
    expectEqual(
      aac.availableEncodeChannelLayoutTags?.contains(
        NSNumber(value: kAudioChannelLayoutTag_Stereo)), true)
    let plain = try require(AVAudioConverter(from: .standard(), to: .shorts()))
    expectTrue(plain.bitRate == 0 && plain.bitRateStrategy == nil && plain.magicCookie == nil)
    expectTrue(plain.availableEncodeBitRates == nil && plain.applicableEncodeBitRates == nil)
    expectTrue(plain.availableEncodeSampleRates == nil && plain.applicableEncodeSampleRates == nil)
    expectNil(plain.availableEncodeChannelLayoutTags)
  }

  // MARK: Settings

  @Test func settingsOfTheRateConverterChangeItsSound() throws {
    let sound = noise(4000)
    func convert(_ setUp: (AVAudioConverter) -> Void) throws -> [[Float]] {
      let converter = try require(AVAudioConverter(from: .standard(), to: .standard(44100)))
      setUp(converter)
      return try self.convert(sound, by: converter, piece: 4000, room: 8000).sound
    }
    let usual = try convert {
      expectEqual($0.sampleRateConverterQuality, AVAudioQuality.max.rawValue)
      expectEqual($0.sampleRateConverterAlgorithm, AVSampleRateConverterAlgorithm_Mastering)
      expectTrue($0.primeMethod == .normal && !$0.dither)
    }
    try expectEqual(
      convert {
        $0.sampleRateConverterQuality = AVAudioQuality.max.rawValue
        $0.sampleRateConverterAlgorithm = AVSampleRateConverterAlgorithm_Mastering
      }, usual)
    expectTrue(try convert { $0.sampleRateConverterQuality = AVAudioQuality.low.rawValue } != usual)
    for algorithm in [
      AVSampleRateConverterAlgorithm_Normal, AVSampleRateConverterAlgorithm_MinimumPhase,
    ] {
      let other = try convert {
        $0.sampleRateConverterAlgorithm = algorithm
        expectEqual($0.sampleRateConverterAlgorithm, algorithm)
      }
      expectTrue(other != usual)
    }
    // Latency: silence comes first.
    let late = try convert {
      $0.primeMethod = .none
      $0.primeInfo = AVAudioConverterPrimeInfo(leadingFrames: 0, trailingFrames: 480)
      expectTrue($0.primeMethod == .none && $0.primeInfo.trailingFrames == 480)
    }
    expectTrue(late[0][..<441].allSatisfy { $0 == 0 } && late[0][441...].first == usual[0].first)
    let primed = try convert {
      $0.primeMethod = .pre
      $0.primeInfo = AVAudioConverterPrimeInfo(leadingFrames: 480, trailingFrames: 0)
    }
    expectEqual(primed[0].count, usual[0].count - 441)
  }

  @Test func ditherSpreadsWhatLiesBetweenTwoIntegers() throws {
    let sound = [[Float](repeating: 0.25 / 32768, count: 4000)]
    let shorts = AVAudioFormat.shorts(48000, 1)
    let converter = try require(AVAudioConverter(from: .standard(48000, 1), to: shorts))
    let output = try require(AVAudioPCMBuffer(pcmFormat: shorts, frameCapacity: 4000))
    func values() throws -> Set<Int16> {
      try converter.convert(to: output, from: AVAudioPCMBuffer(sound))
      return Set((0..<4000).map { output.int16ChannelData![0][$0] })
    }
    try expectEqual(values(), [0])
    converter.dither = true
    expectTrue(converter.dither)
    expectTrue(try values().count > 1)
  }
}
