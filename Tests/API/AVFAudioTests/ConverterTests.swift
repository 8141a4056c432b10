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
      let output = try #require(
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
      if status == .error { throw try #require(error) }
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
        sound, by: #require(AVAudioConverter(from: input, to: output)), piece: 30001, room: 40000)
      let pieces = try convert(
        sound, by: #require(AVAudioConverter(from: input, to: output)), piece: 1023, room: 700,
        runsDry: true)
      #expect(whole.sound == pieces.sound)
      #expect(whole.sound[0].count == Int((30001 * to / from).rounded()))
      // The end is asked for once, also if the converter is called again.
      #expect(whole.ends == 1 && pieces.ends == 1)
      #expect(whole.calls == [.haveData, .endOfStream])
      #expect(pieces.calls.contains(.inputRanDry))
    }
  }

  @Test func rateConversionIsBetterThan100dB() throws {
    let sound = tones(48000, [997, 4999])
    for rate in [16000, 44100, 96000] as [Double] {
      let converter = try #require(AVAudioConverter(from: .standard(), to: .standard(rate)))
      let heard = try convert(sound, by: converter, piece: 4096, room: 4096).sound
      let wanted = tones(heard[0].count, [997, 4999], rate: rate)
      for channel in 0..<2 {
        // The filter reaches over both ends.
        let middle = 500..<heard[0].count - 500
        #expect(ratio(heard[channel][middle], to: wanted[channel][middle]) > 100, "\(rate)")
      }
    }
  }

  @Test func afterTheEndOnlyAResetBeginsAnotherStream() throws {
    let converter = try #require(AVAudioConverter(from: .standard(), to: .standard(24000)))
    let sound = noise(4000)
    let first = try convert(sound, by: converter, piece: 1000, room: 5000)
    let output = try #require(AVAudioPCMBuffer(pcmFormat: .standard(24000), frameCapacity: 100))
    for _ in 0..<2 {
      let status = converter.convert(to: output, error: nil) { _, _ in
        Issue.record("the block is called after its end")
        return nil
      }
      #expect(status == .endOfStream && output.frameLength == 0)
    }
    converter.reset()
    #expect(try convert(sound, by: converter, piece: 1000, room: 5000).sound == first.sound)
    // The same holds where nothing is held back.
    let plain = try #require(AVAudioConverter(from: .standard(), to: .standard()))
    let copied = try convert(sound, by: plain, piece: 999, room: 700)
    #expect(copied.sound == sound && copied.ends == 1)
  }

  @Test func aDryInputGivesWhatIsThere() throws {
    let converter = try #require(AVAudioConverter(from: .standard(), to: .standard()))
    let output = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 100))
    for answer in [nil, AVAudioPCMBuffer([[], []])] {
      var calls = 0
      let status = converter.convert(to: output, error: nil) { packets, status in
        calls += 1
        #expect(packets == (calls == 1 ? 100 : 60))
        status.pointee = .haveData
        return calls == 1 ? AVAudioPCMBuffer(noise(40)) : answer
      }
      #expect(status == .inputRanDry && output.frameLength == 40 && output.channels == noise(40))
    }
  }

  @Test func inputThatIsLeftOverIsKept() throws {
    let converter = try #require(AVAudioConverter(from: .standard(), to: .standard()))
    let sound = noise(250)
    let output = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 100))
    var isGiven = false
    var heard: [Float] = []
    for frames in [100, 100, 50] {
      let status = converter.convert(to: output, error: nil) { _, status in
        status.pointee = isGiven ? .noDataNow : .haveData
        defer { isGiven = true }
        return isGiven ? nil : AVAudioPCMBuffer(sound)
      }
      #expect(status == (frames == 100 ? .haveData : .inputRanDry))
      heard += output.channels[1]
    }
    #expect(heard == sound[1])
  }

  @Test func buffersOfOneRateAreConvertedAtOnce() throws {
    let sound = noise(1000)
    let there = try #require(AVAudioConverter(from: .standard(), to: .shorts()))
    let shorts = try #require(AVAudioPCMBuffer(pcmFormat: .shorts(), frameCapacity: 1000))
    try there.convert(to: shorts, from: AVAudioPCMBuffer(sound))
    #expect(shorts.frameLength == 1000)
    #expect(shorts.int16ChannelData![1][6] == Int16(sound[1][3] * 32768))
    let back = try #require(AVAudioConverter(from: .shorts(), to: .standard()))
    let floats = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 2000))
    try back.convert(to: floats, from: shorts)
    #expect(floats.channels == sound)
  }

  @Test func whatCannotBeConvertedAtOnceThrows() throws {
    let input = AVAudioPCMBuffer(noise(1000))
    func code(_ to: AVAudioFormat, _ output: AVAudioPCMBuffer) throws -> Int {
      let converter = try #require(AVAudioConverter(from: .standard(), to: to))
      let error = try failure { try converter.convert(to: output, from: input) }
      #expect(error.domain == NSOSStatusErrorDomain)
      #expect(error.localizedDescription.hasPrefix("AVAudioConverter.convert: "))
      return error.code
    }
    let slow = try #require(AVAudioPCMBuffer(pcmFormat: .standard(24000), frameCapacity: 1000))
    #expect(try code(.standard(24000), slow) == -50)
    let small = try #require(AVAudioPCMBuffer(pcmFormat: .shorts(), frameCapacity: 999))
    #expect(try code(.shorts(), small) == -50)
    // Of another format than the converter's.
    #expect(try code(.shorts(), AVAudioPCMBuffer(noise(1000))) == -50)
    let converter = try #require(AVAudioConverter(from: .shorts(), to: .standard()))
    var error: NSError?
    let output = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 10))
    let status = converter.convert(to: output, error: &error) { _, status in
      status.pointee = .haveData
      return input
    }
    #expect(status == .error && error?.code == -50 && error?.domain == NSOSStatusErrorDomain)
  }

  @Test func aConverterThatCannotBeIsNil() {
    #expect(AVAudioConverter(from: .absent, to: .standard()) == nil)
    #expect(AVAudioConverter(from: .standard(1, 1), to: .standard(96000, 1)) == nil)
    #expect(AVAudioConverter(from: .standard(), to: .packets(kAudioFormatAMR, 8000, 1)) == nil)
  }

  // MARK: Channels

  private func channels(
    _ input: [Float], to output: AVAudioFormat,
    setUp: (AVAudioConverter) -> Void = { _ in }
  ) throws -> [Float] {
    let from = AVAudioFormat.standard(48000, AVAudioChannelCount(input.count))
    let converter = try #require(AVAudioConverter(from: from, to: output))
    setUp(converter)
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: output, frameCapacity: 1))
    try converter.convert(to: buffer, from: AVAudioPCMBuffer(input.map { [$0] }, from))
    return buffer.channels.map { $0[0] }
  }

  @Test func channelsAreMappedInOrder() throws {
    #expect(try channels([0.25], to: .standard()) == [0.25, 0.25])
    #expect(try channels([1, -0.5], to: .standard(48000, 1)) == [1])
    #expect(try channels([1, 2], to: .standard(48000, 3)) == [1, 2, 0])
    let swapped = try channels([1, -0.5], to: .standard()) {
      #expect($0.channelMap == [0, 1])
      $0.channelMap = [1, -1]
      #expect($0.channelMap == [1, -1])
      // What cannot be changes nothing.
      $0.channelMap = [2, 0]
      $0.channelMap = [0]
      #expect($0.channelMap == [1, -1])
    }
    #expect(swapped == [-0.5, 0])
    // By the roles that the layouts name.
    let other = AVAudioFormat(
      standardFormatWithSampleRate: 48000,
      channelLayout: AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_MPEG_5_1_D)!)
    // L R C LFE Ls Rs to C L R Ls Rs LFE.
    #expect(try channels([1, 2, 3, 4, 5, 6], to: other) == [3, 1, 2, 5, 6, 4])
  }

  /// Trap 3 of the plan, as far as converters mix.
  @Test func aDownmixHasAllChannels() throws {
    let mono = try channels([1, -0.5], to: .standard(48000, 1)) {
      #expect(!$0.downmix)
      $0.downmix = true
      #expect($0.downmix)
    }
    #expect(mono == [0.25])
    let half = Float(0.5).squareRoot()
    let whole = 1 + 2 * half
    for (input, output) in [
      ([1, 0, 0, 0, 0, 0], [1, 0]), ([0, 1, 0, 0, 0, 0], [0, 1]),
      ([0, 0, 1, 0, 0, 0], [half, half]), ([0, 0, 0, 1, 0, 0], [0, 0]),
      ([0, 0, 0, 0, 1, 0], [half, 0]), ([0, 0, 0, 0, 0, 1], [0, half]),
    ] as [([Float], [Float])] {
      let heard = try channels(input, to: .standard()) { $0.downmix = true }
      for (heard, gain) in zip(heard, output) { #expect(abs(heard - gain / whole) < 1e-6) }
    }
    #expect(try channels([0.5], to: .standard()) { $0.downmix = true } == [0.5, 0.5])
    let neither = try channels([0.5], to: .standard()) {
      $0.downmix = true
      $0.downmix = false
    }
    #expect(neither == [0.5, 0.5])
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
    let encoder = try #require(AVAudioConverter(from: .standard(), to: coded))
    #expect(encoder.maximumOutputPacketSize > 0)
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
      try #require(status != .error, "\(error as Any)")
      if buffer.packetCount > 0 { packets.append(buffer) }
    }
    let priming = Int(encoder.primeInfo.leadingFrames)

    coded.magicCookie = encoder.magicCookie
    let decoder = try #require(AVAudioConverter(from: coded, to: .standard()))
    #expect(decoder.magicCookie == coded.magicCookie)
    var heard: [[Float]] = [[], []]
    var left = packets[...]
    status = .haveData
    while status != .endOfStream {
      let output = try #require(AVAudioPCMBuffer(pcmFormat: .standard(), frameCapacity: 5000))
      var error: NSError?
      status = decoder.convert(to: output, error: &error) { _, status in
        status.pointee = left.isEmpty ? .endOfStream : .haveData
        return left.popFirst()
      }
      try #require(status != .error, "\(error as Any)")
      for channel in 0..<2 { heard[channel] += output.channels[channel] }
    }
    for channel in 0..<2 {
      let sound = heard[channel].dropFirst(priming).prefix(48000)
      #expect(ratio(sound, to: tones(48000, [440, 1000])[channel]) > quality)
    }
  }

  @Test func encodersTellWhatTheyCan() throws {
    let aac = try #require(
      AVAudioConverter(from: .standard(), to: .packets(kAudioFormatMPEG4AAC)))
    #expect(aac.bitRateStrategy == AVAudioBitRateStrategy_LongTermAverage)
    aac.bitRateStrategy = AVAudioBitRateStrategy_Variable
    #expect(aac.bitRateStrategy == AVAudioBitRateStrategy_Variable)
    aac.bitRateStrategy = AVAudioBitRateStrategy_Constant
    #expect(aac.bitRateStrategy == AVAudioBitRateStrategy_LongTermAverage)
    aac.bitRate = 96000
    #expect(aac.bitRate == 96000 && aac.applicableEncodeBitRates?.contains(96000) == true)
    #expect(aac.availableEncodeBitRates?.contains(96000) == true)
    #expect(aac.availableEncodeSampleRates?.contains(44100) == true)
    #expect(aac.applicableEncodeSampleRates?.contains(48000) == true)
    #expect(
      aac.availableEncodeChannelLayoutTags?.contains(
        NSNumber(value: kAudioChannelLayoutTag_Stereo)) == true)
    let plain = try #require(AVAudioConverter(from: .standard(), to: .shorts()))
    #expect(plain.bitRate == 0 && plain.bitRateStrategy == nil && plain.magicCookie == nil)
    #expect(plain.availableEncodeBitRates == nil && plain.applicableEncodeBitRates == nil)
    #expect(plain.availableEncodeSampleRates == nil && plain.applicableEncodeSampleRates == nil)
    #expect(plain.availableEncodeChannelLayoutTags == nil)
  }

  // MARK: Settings

  @Test func settingsOfTheRateConverterChangeItsSound() throws {
    let sound = noise(4000)
    func convert(_ setUp: (AVAudioConverter) -> Void) throws -> [[Float]] {
      let converter = try #require(AVAudioConverter(from: .standard(), to: .standard(44100)))
      setUp(converter)
      return try self.convert(sound, by: converter, piece: 4000, room: 8000).sound
    }
    let usual = try convert {
      #expect($0.sampleRateConverterQuality == AVAudioQuality.max.rawValue)
      #expect($0.sampleRateConverterAlgorithm == AVSampleRateConverterAlgorithm_Mastering)
      #expect($0.primeMethod == .normal && !$0.dither)
    }
    #expect(
      try convert {
        $0.sampleRateConverterQuality = AVAudioQuality.max.rawValue
        $0.sampleRateConverterAlgorithm = AVSampleRateConverterAlgorithm_Mastering
      } == usual)
    #expect(try convert { $0.sampleRateConverterQuality = AVAudioQuality.low.rawValue } != usual)
    for algorithm in [
      AVSampleRateConverterAlgorithm_Normal, AVSampleRateConverterAlgorithm_MinimumPhase,
    ] {
      let other = try convert {
        $0.sampleRateConverterAlgorithm = algorithm
        #expect($0.sampleRateConverterAlgorithm == algorithm)
      }
      #expect(other != usual)
    }
    // Latency: silence comes first.
    let late = try convert {
      $0.primeMethod = .none
      $0.primeInfo = AVAudioConverterPrimeInfo(leadingFrames: 0, trailingFrames: 480)
      #expect($0.primeMethod == .none && $0.primeInfo.trailingFrames == 480)
    }
    #expect(late[0][..<441].allSatisfy { $0 == 0 } && late[0][441...].first == usual[0].first)
    let primed = try convert {
      $0.primeMethod = .pre
      $0.primeInfo = AVAudioConverterPrimeInfo(leadingFrames: 480, trailingFrames: 0)
    }
    #expect(primed[0].count == usual[0].count - 441)
  }

  @Test func ditherSpreadsWhatLiesBetweenTwoIntegers() throws {
    let sound = [[Float](repeating: 0.25 / 32768, count: 4000)]
    let shorts = AVAudioFormat.shorts(48000, 1)
    let converter = try #require(AVAudioConverter(from: .standard(48000, 1), to: shorts))
    let output = try #require(AVAudioPCMBuffer(pcmFormat: shorts, frameCapacity: 4000))
    func values() throws -> Set<Int16> {
      try converter.convert(to: output, from: AVAudioPCMBuffer(sound))
      return Set((0..<4000).map { output.int16ChannelData![0][$0] })
    }
    #expect(try values() == [0])
    converter.dither = true
    #expect(converter.dither)
    #expect(try values().count > 1)
  }
}
