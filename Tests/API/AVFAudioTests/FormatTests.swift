import AVFoundation
import TestSupport
import Testing

@Suite struct FormatTests {
  @Test func theStandardFormatIsFloatsWithABufferForEachChannel() throws {
    let format = try require(AVAudioFormat(standardFormatWithSampleRate: 44100, channels: 2))
    expectTrue(
      format.commonFormat == .pcmFormatFloat32 && format.isStandard && !format.isInterleaved)
    expectTrue(
      format.sampleRate == 44100 && format.channelCount == 2 && format.channelLayout == nil)
    let description = format.streamDescription.pointee
    expectEqual(description.mFormatID, kAudioFormatLinearPCM)
    expectEqual(
      description.mFormatFlags,
      kAudioFormatFlagsNativeFloatPacked | kAudioFormatFlagIsNonInterleaved)
    expectTrue(
      description.mBytesPerFrame == 4 && description.mBytesPerPacket == 4
        && description.mFramesPerPacket == 1 && description.mBitsPerChannel == 32)
    expectTrue("\(format)".contains("2 ch") && "\(format)".contains("deinterleaved"))
  }

  @Test func pointersStayValid() throws {
    func format(_ rate: Double) -> UnsafePointer<AudioStreamBasicDescription> {
      AVAudioFormat(standardFormatWithSampleRate: rate, channels: 1)!.streamDescription
    }
    let (first, second) = (format(12345), format(23456))
    expectTrue(first.pointee.mSampleRate == 12345 && second.pointee.mSampleRate == 23456)
    expectEqual(format(12345), first)
    let layout = AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_AAC_6_0)!.layout
    expectEqual(layout.pointee.mChannelLayoutTag, kAudioChannelLayoutTag_AAC_6_0)
  }

  @Test func aFormatThatCannotBeIsNil() {
    for rate in [0, -1, .nan, .infinity, 1e9] {
      expectNil(AVAudioFormat(standardFormatWithSampleRate: rate, channels: 2))
    }
    for channels in [0, 3, 1000, .max] as [AVAudioChannelCount] {
      expectNil(AVAudioFormat(standardFormatWithSampleRate: 48000, channels: channels))
      for isInterleaved in [false, true] {
        expectNil(
          AVAudioFormat(
            commonFormat: .pcmFormatInt16, sampleRate: 48000, channels: channels,
            interleaved: isInterleaved))
      }
      var description = AVAudioFormat.standard().streamDescription.pointee
      description.mChannelsPerFrame = channels
      expectNil(AVAudioFormat(streamDescription: &description))
    }
    expectNil(
      AVAudioFormat(commonFormat: .otherFormat, sampleRate: 48000, channels: 1, interleaved: true))
  }

  @Test func moreThanTwoChannelsTakeALayout() throws {
    let layout = try require(AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_MPEG_5_1_A))
    let format = AVAudioFormat(standardFormatWithSampleRate: 48000, channelLayout: layout)
    expectTrue(format.channelCount == 6 && format.channelLayout == layout && format.isStandard)
    let interleaved = AVAudioFormat(
      commonFormat: .pcmFormatInt32, sampleRate: 48000, interleaved: true, channelLayout: layout)
    expectEqual(interleaved.streamDescription.pointee.mBytesPerFrame, 24)
    var description = format.streamDescription.pointee
    expectEqual(AVAudioFormat(streamDescription: &description, channelLayout: layout), format)
    let quadraphonic = AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_Quadraphonic)
    expectNil(AVAudioFormat(streamDescription: &description, channelLayout: quadraphonic))
    expectNil(AVAudioFormat(streamDescription: &description, channelLayout: nil))
  }

  @Test(
    arguments: [
      (.pcmFormatFloat32, 4), (.pcmFormatFloat64, 8), (.pcmFormatInt16, 2), (.pcmFormatInt32, 4),
    ] as [(AVAudioCommonFormat, UInt32)])
  func theFourCommonFormats(common: AVAudioCommonFormat, bytes: UInt32) throws {
    for isInterleaved in [false, true] {
      let format = try require(
        AVAudioFormat(
          commonFormat: common, sampleRate: 8000, channels: 2, interleaved: isInterleaved))
      expectTrue(format.commonFormat == common && format.isInterleaved == isInterleaved)
      expectEqual(
        format.streamDescription.pointee.mBytesPerFrame, (isInterleaved ? 2 * bytes : bytes))
      expectEqual(AVAudioFormat(settings: format.settings), format)
    }
  }

  @Test func otherFormatsSaySo() throws {
    var description = AVAudioFormat.shorts().streamDescription.pointee
    description.mFormatFlags |= kAudioFormatFlagIsBigEndian
    expectEqual(AVAudioFormat(streamDescription: &description)?.commonFormat, .otherFormat)
    let aac = AVAudioFormat.packets(kAudioFormatMPEG4AAC)
    expectTrue(aac.commonFormat == .otherFormat && !aac.isStandard)
    expectEqual(aac.streamDescription.pointee.mFramesPerPacket, 1024)
    aac.magicCookie = Data([1, 2])
    expectEqual(aac.magicCookie, Data([1, 2]))
  }

  @Test func settingsAreNumbersOfFoundation() throws {
    let settings = AVAudioFormat.standard(44100, 2).settings
    expectEqual(settings[AVSampleRateKey] as? Int, 44100)
    expectEqual(settings[AVSampleRateKey] as? Double, 44100)
    expectEqual(settings[AVNumberOfChannelsKey] as? UInt32, 2)
    expectEqual(settings[AVFormatIDKey] as? UInt32, kAudioFormatLinearPCM)
    expectEqual(settings[AVLinearPCMBitDepthKey] as? Int, 32)
    expectEqual(settings[AVLinearPCMIsFloatKey] as? Bool, true)
    expectEqual(settings[AVLinearPCMIsBigEndianKey] as? Bool, false)
    expectEqual(settings[AVLinearPCMIsNonInterleaved] as? Bool, true)
    expectNil(settings[AVChannelLayoutKey])
    let surround = AVAudioFormat.standard(48000, 6)
    let data = try require(surround.settings[AVChannelLayoutKey] as? Data)
    expectEqual(data.count, MemoryLayout<AudioChannelLayout>.size)
    expectEqual(AVAudioFormat(settings: surround.settings), surround)
    let lossless = AVAudioFormat.packets(kAudioFormatAppleLossless)
    expectEqual(AVAudioFormat(settings: lossless.settings), lossless)
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
      expectEqual(AVAudioFormat(settings: settings), AVAudioFormat.shorts(), "\(settings)")
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
      expectNil(AVAudioFormat(settings: settings), "\(key): \(value as Any)")
    }
  }

  /// Trap 2 of the plan.
  @Test func oneChannelIsTheSameInterleavedOrNot() throws {
    func mono(_ isInterleaved: Bool) -> AVAudioFormat {
      AVAudioFormat(
        commonFormat: .pcmFormatFloat32, sampleRate: 48000, channels: 1, interleaved: isInterleaved)!
    }
    expectTrue(mono(true).isInterleaved && !mono(false).isInterleaved)
    expectTrue(mono(true) == mono(false) && mono(true).hash == mono(false).hash)
    expectTrue(mono(true).isStandard)
    expectEqual(Set([mono(true), mono(false)]).count, 1)
  }

  @Test func formatsAreEqualWithoutWhatIsInsignificant() throws {
    let plain = AVAudioFormat.standard()
    let stereo = AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_Stereo)!
    let told = AVAudioFormat(standardFormatWithSampleRate: 48000, channelLayout: stereo)
    expectTrue(plain == told && plain.hash == told.hash)
    let headphones = AVAudioFormat(
      standardFormatWithSampleRate: 48000,
      channelLayout: AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_StereoHeadphones)!)
    expectTrue(plain != headphones)
    var description = AVAudioFormat.shorts().streamDescription.pointee
    // Samples that fill their bytes have no alignment.
    description.mFormatFlags |= kAudioFormatFlagIsAlignedHigh
    expectEqual(AVAudioFormat(streamDescription: &description), AVAudioFormat.shorts())
    expectTrue(plain != AVAudioFormat.standard(44100) && plain != AVAudioFormat.standard(48000, 1))
    expectTrue(plain != AVAudioFormat.shorts())
    expectTrue(
      plain
        != AVAudioFormat(
          commonFormat: .pcmFormatFloat32, sampleRate: 48000, channels: 2, interleaved: true))
    expectTrue(AVAudioFormat.absent == AVAudioFormat.absent && plain != AVAudioFormat.absent)
    expectTrue(AVAudioFormat.absent.sampleRate == 0 && AVAudioFormat.absent.channelCount == 0)
  }

  @Test func aLayoutHasItsTagAndItsChannels() throws {
    let layout = try require(AVAudioChannelLayout(layoutTag: kAudioChannelLayoutTag_MPEG_5_1_A))
    expectTrue(layout.layoutTag == kAudioChannelLayoutTag_MPEG_5_1_A && layout.channelCount == 6)
    expectEqual(layout.layout.pointee.mChannelLayoutTag, kAudioChannelLayoutTag_MPEG_5_1_A)
    let same = AVAudioChannelLayout(layout: layout.layout)
    expectTrue(same == layout && same.hash == layout.hash)
    for tag in [
      kAudioChannelLayoutTag_UseChannelDescriptions, kAudioChannelLayoutTag_UseChannelBitmap,
      kAudioChannelLayoutTag_DiscreteInOrder,
    ] {
      expectNil(AVAudioChannelLayout(layoutTag: tag))
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
    expectTrue(described.channelCount == 3 && described != layout)
    // The object has a copy of its own.
    list[0].mChannelLabel = kAudioChannelLabel_Center
    expectEqual(
      described.layout.pointee.mChannelDescriptions.mChannelLabel, kAudioChannelLabel_Left)
  }

  @Test func formatsAreArchived() throws {
    let aac = AVAudioFormat.packets(kAudioFormatMPEG4AAC)
    aac.magicCookie = Data([7])
    for format in [.standard(), .standard(44100, 6), .shorts(), aac] as [AVAudioFormat] {
      let data = try NSKeyedArchiver.archivedData(
        withRootObject: format, requiringSecureCoding: true)
      let read = try require(
        try NSKeyedUnarchiver.unarchivedObject(ofClass: AVAudioFormat.self, from: data))
      expectTrue(read == format && read.magicCookie == format.magicCookie)
      expectEqual(read.channelLayout, format.channelLayout)
    }
  }

  @Test func theProgramMayRecord() async {
    expectEqual(AVCaptureDevice.authorizationStatus(for: .audio), .authorized)
    expectTrue(await AVCaptureDevice.requestAccess(for: .audio))
    let isGranted = await withCheckedContinuation { continuation in
      AVCaptureDevice.requestAccess(for: .audio) { continuation.resume(returning: $0) }
    }
    expectTrue(isGranted)
    let video = AVMediaType(rawValue: "vide")
    expectEqual(AVCaptureDevice.authorizationStatus(for: video), .restricted)
  }
}
