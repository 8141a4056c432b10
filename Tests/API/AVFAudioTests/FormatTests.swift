import AVFoundation
import Testing

@Suite struct FormatTests {
  @Test func theStandardFormatIsFloatsWithABufferForEachChannel() throws {
    let format = try #require(AVAudioFormat(standardFormatWithSampleRate: 44100, channels: 2))
    #expect(format.commonFormat == .pcmFormatFloat32 && format.isStandard && !format.isInterleaved)
    #expect(format.sampleRate == 44100 && format.channelCount == 2 && format.channelLayout == nil)
    let description = format.streamDescription.pointee
    #expect(description.mFormatID == kAudioFormatLinearPCM)
    #expect(
      description.mFormatFlags
        == kAudioFormatFlagsNativeFloatPacked | kAudioFormatFlagIsNonInterleaved)
    #expect(
      description.mBytesPerFrame == 4 && description.mBytesPerPacket == 4
        && description.mFramesPerPacket == 1 && description.mBitsPerChannel == 32)
    #expect("\(format)".contains("2 ch") && "\(format)".contains("deinterleaved"))
  }

  @Test func pointersStayValid() throws {
    func format(_ rate: Double) -> UnsafePointer<AudioStreamBasicDescription> {
      AVAudioFormat(standardFormatWithSampleRate: rate, channels: 1)!.streamDescription
    }
    let (first, second) = (format(12345), format(23456))
    #expect(first.pointee.mSampleRate == 12345 && second.pointee.mSampleRate == 23456)
    #expect(format(12345) == first)
    let layout = AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_AAC_6_0)!.layout
    #expect(layout.pointee.mChannelLayoutTag == kAudioChannelLayoutTag_AAC_6_0)
  }

  @Test func aFormatThatCannotBeIsNil() {
    for rate in [0, -1, .nan, .infinity, 1e9] {
      #expect(AVAudioFormat(standardFormatWithSampleRate: rate, channels: 2) == nil)
    }
    for channels in [0, 3, 1000, .max] as [AVAudioChannelCount] {
      #expect(AVAudioFormat(standardFormatWithSampleRate: 48000, channels: channels) == nil)
      for isInterleaved in [false, true] {
        #expect(
          AVAudioFormat(
            commonFormat: .pcmFormatInt16, sampleRate: 48000, channels: channels,
            interleaved: isInterleaved) == nil)
      }
      var description = AVAudioFormat.standard().streamDescription.pointee
      description.mChannelsPerFrame = channels
      #expect(AVAudioFormat(streamDescription: &description) == nil)
    }
    #expect(
      AVAudioFormat(commonFormat: .otherFormat, sampleRate: 48000, channels: 1, interleaved: true)
        == nil)
  }

  @Test func moreThanTwoChannelsTakeALayout() throws {
    let layout = try #require(AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_MPEG_5_1_A))
    let format = AVAudioFormat(standardFormatWithSampleRate: 48000, channelLayout: layout)
    #expect(format.channelCount == 6 && format.channelLayout == layout && format.isStandard)
    let interleaved = AVAudioFormat(
      commonFormat: .pcmFormatInt32, sampleRate: 48000, interleaved: true, channelLayout: layout)
    #expect(interleaved.streamDescription.pointee.mBytesPerFrame == 24)
    var description = format.streamDescription.pointee
    #expect(AVAudioFormat(streamDescription: &description, channelLayout: layout) == format)
    let quadraphonic = AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_Quadraphonic)
    #expect(AVAudioFormat(streamDescription: &description, channelLayout: quadraphonic) == nil)
    #expect(AVAudioFormat(streamDescription: &description, channelLayout: nil) == nil)
  }

  @Test(
    arguments: [
      (.pcmFormatFloat32, 4), (.pcmFormatFloat64, 8), (.pcmFormatInt16, 2), (.pcmFormatInt32, 4),
    ] as [(AVAudioCommonFormat, UInt32)])
  func theFourCommonFormats(common: AVAudioCommonFormat, bytes: UInt32) throws {
    for isInterleaved in [false, true] {
      let format = try #require(
        AVAudioFormat(
          commonFormat: common, sampleRate: 8000, channels: 2, interleaved: isInterleaved))
      #expect(format.commonFormat == common && format.isInterleaved == isInterleaved)
      #expect(
        format.streamDescription.pointee.mBytesPerFrame == (isInterleaved ? 2 * bytes : bytes))
      #expect(AVAudioFormat(settings: format.settings) == format)
    }
  }

  @Test func otherFormatsSaySo() throws {
    var description = AVAudioFormat.shorts().streamDescription.pointee
    description.mFormatFlags |= kAudioFormatFlagIsBigEndian
    #expect(AVAudioFormat(streamDescription: &description)?.commonFormat == .otherFormat)
    let aac = AVAudioFormat.packets(kAudioFormatMPEG4AAC)
    #expect(aac.commonFormat == .otherFormat && !aac.isStandard)
    #expect(aac.streamDescription.pointee.mFramesPerPacket == 1024)
    aac.magicCookie = Data([1, 2])
    #expect(aac.magicCookie == Data([1, 2]))
  }

  @Test func settingsAreNumbersOfFoundation() throws {
    let settings = AVAudioFormat.standard(44100, 2).settings
    #expect(settings[AVSampleRateKey] as? Int == 44100)
    #expect(settings[AVSampleRateKey] as? Double == 44100)
    #expect(settings[AVNumberOfChannelsKey] as? UInt32 == 2)
    #expect(settings[AVFormatIDKey] as? UInt32 == kAudioFormatLinearPCM)
    #expect(settings[AVLinearPCMBitDepthKey] as? Int == 32)
    #expect(settings[AVLinearPCMIsFloatKey] as? Bool == true)
    #expect(settings[AVLinearPCMIsBigEndianKey] as? Bool == false)
    #expect(settings[AVLinearPCMIsNonInterleaved] as? Bool == true)
    #expect(settings[AVChannelLayoutKey] == nil)
    let surround = AVAudioFormat.standard(48000, 6)
    let data = try #require(surround.settings[AVChannelLayoutKey] as? Data)
    #expect(data.count == MemoryLayout<AudioChannelLayout>.size)
    #expect(AVAudioFormat(settings: surround.settings) == surround)
    let lossless = AVAudioFormat.packets(kAudioFormatAppleLossless)
    #expect(AVAudioFormat(settings: lossless.settings) == lossless)
  }

  @Test func settingsTakeAnyKindOfNumber() throws {
    let values: [[String: Any]] = [
      [AVSampleRateKey: 48000, AVNumberOfChannelsKey: 2, AVLinearPCMBitDepthKey: 16],
      [
        AVSampleRateKey: 48000.0, AVNumberOfChannelsKey: UInt32(2),
        AVLinearPCMBitDepthKey: NSNumber(value: 16), AVLinearPCMIsFloatKey: false,
        AVFormatIDKey: Int(kAudioFormatLinearPCM),
      ],
      [
        AVSampleRateKey: Float(48000), AVNumberOfChannelsKey: Int8(2),
        AVLinearPCMIsFloatKey: 0, AVLinearPCMIsBigEndianKey: NSNumber(value: false),
        AVFormatIDKey: kAudioFormatLinearPCM, AVEncoderBitRateKey: "ignored",
      ],
    ]
    for settings in values {
      #expect(AVAudioFormat(settings: settings) == AVAudioFormat.shorts(), "\(settings)")
    }
  }

  @Test func settingsWithoutAFormatAreNil() {
    let good = AVAudioFormat.shorts().settings
    let bad: [(String, Any?)] = [
      (AVSampleRateKey, nil), (AVSampleRateKey, "48000"), (AVSampleRateKey, Double.nan),
      (AVNumberOfChannelsKey, nil), (AVNumberOfChannelsKey, 3), (AVNumberOfChannelsKey, -1),
      (AVNumberOfChannelsKey, 1.5), (AVLinearPCMBitDepthKey, 7), (AVLinearPCMBitDepthKey, 33),
      (AVLinearPCMBitDepthKey, 64), (AVLinearPCMIsFloatKey, "yes"), (AVFormatIDKey, 1),
      (AVChannelLayoutKey, Data([1])), (AVChannelLayoutKey, 5),
      (
        AVChannelLayoutKey,
        AVAudioFormat.standard(48000, 6).settings[AVChannelLayoutKey]
      ),
    ]
    for (key, value) in bad {
      var settings = good
      settings[key] = value
      #expect(AVAudioFormat(settings: settings) == nil, "\(key): \(value as Any)")
    }
  }

  /// Trap 2 of the plan.
  @Test func oneChannelIsTheSameInterleavedOrNot() throws {
    func mono(_ isInterleaved: Bool) -> AVAudioFormat {
      AVAudioFormat(
        commonFormat: .pcmFormatFloat32, sampleRate: 48000, channels: 1, interleaved: isInterleaved)!
    }
    #expect(mono(true).isInterleaved && !mono(false).isInterleaved)
    #expect(mono(true) == mono(false) && mono(true).hash == mono(false).hash)
    #expect(mono(true).isStandard)
    #expect(Set([mono(true), mono(false)]).count == 1)
  }

  @Test func formatsAreEqualWithoutWhatIsInsignificant() throws {
    let plain = AVAudioFormat.standard()
    let stereo = AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_Stereo)!
    let told = AVAudioFormat(standardFormatWithSampleRate: 48000, channelLayout: stereo)
    #expect(plain == told && plain.hash == told.hash)
    let headphones = AVAudioFormat(
      standardFormatWithSampleRate: 48000,
      channelLayout: AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_StereoHeadphones)!)
    #expect(plain != headphones)
    var description = AVAudioFormat.shorts().streamDescription.pointee
    // Samples that fill their bytes have no alignment.
    description.mFormatFlags |= kAudioFormatFlagIsAlignedHigh
    #expect(AVAudioFormat(streamDescription: &description) == AVAudioFormat.shorts())
    #expect(plain != AVAudioFormat.standard(44100) && plain != AVAudioFormat.standard(48000, 1))
    #expect(plain != AVAudioFormat.shorts())
    #expect(
      plain
        != AVAudioFormat(
          commonFormat: .pcmFormatFloat32, sampleRate: 48000, channels: 2, interleaved: true))
    #expect(AVAudioFormat.absent == AVAudioFormat.absent && plain != AVAudioFormat.absent)
    #expect(AVAudioFormat.absent.sampleRate == 0 && AVAudioFormat.absent.channelCount == 0)
  }

  @Test func aLayoutHasItsTagAndItsChannels() throws {
    let layout = try #require(AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_MPEG_5_1_A))
    #expect(layout.layoutTag == kAudioChannelLayoutTag_MPEG_5_1_A && layout.channelCount == 6)
    #expect(layout.layout.pointee.mChannelLayoutTag == kAudioChannelLayoutTag_MPEG_5_1_A)
    let same = AVAudioChannelLayout(layout: layout.layout)
    #expect(same == layout && same.hash == layout.hash)
    for tag in [
      kAudioChannelLayoutTag_UseChannelDescriptions, kAudioChannelLayoutTag_UseChannelBitmap,
      kAudioChannelLayoutTag_DiscreteInOrder,
    ] {
      #expect(AVAudioChannelLayout(layoutTag: tag) == nil)
    }
    let list = AudioChannelLayout.allocate(maximumDescriptions: 3)
    defer { free(list.unsafeMutablePointer) }
    list.unsafeMutablePointer.pointee.mChannelLayoutTag =
      kAudioChannelLayoutTag_UseChannelDescriptions
    for (index, label) in [
      kAudioChannelLabel_Left, kAudioChannelLabel_Right, kAudioChannelLabel_LFEScreen,
    ].enumerated() {
      list[index].mChannelLabel = label
    }
    let described = AVAudioChannelLayout(layout: list.unsafePointer)
    #expect(described.channelCount == 3 && described != layout)
    // The object has a copy of its own.
    list[0].mChannelLabel = kAudioChannelLabel_Center
    #expect(described.layout.pointee.mChannelDescriptions.mChannelLabel == kAudioChannelLabel_Left)
  }

  @Test func formatsAreArchived() throws {
    let aac = AVAudioFormat.packets(kAudioFormatMPEG4AAC)
    aac.magicCookie = Data([7])
    for format in [.standard(), .standard(44100, 6), .shorts(), aac] as [AVAudioFormat] {
      let data = try NSKeyedArchiver.archivedData(
        withRootObject: format, requiringSecureCoding: true)
      let read = try #require(
        try NSKeyedUnarchiver.unarchivedObject(ofClass: AVAudioFormat.self, from: data))
      #expect(read == format && read.magicCookie == format.magicCookie)
      #expect(read.channelLayout == format.channelLayout)
    }
  }

  @Test func theProgramMayRecord() async {
    #expect(AVCaptureDevice.authorizationStatus(for: .audio) == .authorized)
    #expect(await AVCaptureDevice.requestAccess(for: .audio))
    let isGranted = await withCheckedContinuation { continuation in
      AVCaptureDevice.requestAccess(for: .audio) { continuation.resume(returning: $0) }
    }
    #expect(isGranted)
    let video = AVMediaType(rawValue: "vide")
    #expect(AVCaptureDevice.authorizationStatus(for: video) == .restricted)
  }
}
