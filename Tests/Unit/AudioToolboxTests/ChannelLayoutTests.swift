import Testing

@testable import AudioToolbox

/// 31: a layout is given by tag, bitmap or descriptions.
@Suite struct ChannelLayoutTests {
  private func bytes(_ words: [UInt32]) -> [UInt8] { words.withUnsafeBytes { Array($0) } }

  private let left = kAudioChannelLabel_Left

  @Test func aTagIsEnough() throws {
    for tag in [kAudioChannelLayoutTag_MPEG_5_1_A, kAudioChannelLayoutTag_Unknown | 6] {
      // The bitmap and the number of descriptions are ignored.
      let layout = try #require(ChannelLayout(bytes([tag, 0xAAAA, 99])))
      #expect(layout.channels == 6 && layout.byteCount == 32)
      #expect(layout.bytes == bytes([tag, 0, 0, 0, 0, 0, 0, 0]))
      #expect(ChannelLayout(layout.bytes) == layout)
    }
  }

  @Test func portsStandInTheOrderOfTheLabels() throws {
    func order(_ tag: AudioChannelLayoutTag) -> [Int] { ChannelLayout(tag: tag).portOrder }
    #expect(order(kAudioChannelLayoutTag_Stereo) == [])
    #expect(order(kAudioChannelLayoutTag_MPEG_5_1_A) == [])
    #expect(order(kAudioChannelLayoutTag_MPEG_3_0_B) == [2, 0, 1])
    #expect(order(kAudioChannelLayoutTag_MPEG_5_1_D) == [2, 0, 1, 4, 5, 3])
    // Channels without a meaning keep their position.
    #expect(order(kAudioChannelLayoutTag_DiscreteInOrder | 4) == [])
    #expect(order(kAudioChannelLayoutTag_Unknown | 4) == [])
    let right = kAudioChannelLabel_Right
    let crossed = ChannelLayout(
      tag: kAudioChannelLayoutTag_UseChannelDescriptions,
      descriptions: [.init(label: right), .init(label: left)])
    #expect(crossed.portOrder == [1, 0])
    let twice = ChannelLayout(
      tag: kAudioChannelLayoutTag_UseChannelDescriptions,
      descriptions: [.init(label: right), .init(label: right)])
    #expect(twice.portOrder == [])
  }

  @Test func whatIsRenderedGoesToTheChannelsOfTheLabels() throws {
    func mix(_ own: ChannelLayout, _ other: AudioChannelLayoutTag) -> [[Float]]? {
      own.renderingMix(to: ChannelLayout(tag: other))
    }
    let threeB = ChannelLayout(tag: kAudioChannelLayoutTag_MPEG_3_0_B)
    #expect(mix(threeB, kAudioChannelLayoutTag_MPEG_3_0_A) == [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    let mono = ChannelLayout(tag: kAudioChannelLayoutTag_Mono)
    #expect(mix(mono, kAudioChannelLayoutTag_Stereo) == [[1, 0], [0, 1]])
    #expect(mix(mono, kAudioChannelLayoutTag_MPEG_3_0_B) == [[1, 0, 0]])
    #expect(mix(ChannelLayout(channels: 3), kAudioChannelLayoutTag_MPEG_3_0_B) == nil)
    #expect(mix(threeB, kAudioChannelLayoutTag_DiscreteInOrder | 3) == nil)
  }

  @Test func aBitmapCountsItsBits() throws {
    let layout = try #require(
      ChannelLayout(bytes([kAudioChannelLayoutTag_UseChannelBitmap, 0b10_0111, 99])))
    #expect(layout.channels == 4 && layout.bitmap == 0b10_0111)
    #expect(ChannelLayout(layout.bytes) == layout)
  }

  @Test func descriptionsComeBackBitByBit() throws {
    let words: [UInt32] = [
      kAudioChannelLayoutTag_UseChannelDescriptions, 0, 2,
      left, 2, Float(0.25).bitPattern, Float.nan.bitPattern, Float(-1).bitPattern,
      kAudioChannelLabel_UseCoordinates, 1, 1, 2, 3,
    ]
    let layout = try #require(ChannelLayout(bytes(words) + [1, 2, 3]))
    #expect(layout.channels == 2 && layout.byteCount == 52)
    #expect(layout.bytes == bytes(words))
    #expect(ChannelLayout(layout.bytes) == layout)
  }

  @Test func aLayoutThatIsCutShortIsNone() {
    let tag = kAudioChannelLayoutTag_UseChannelDescriptions
    #expect(ChannelLayout([]) == nil)
    #expect(ChannelLayout(bytes([kAudioChannelLayoutTag_Stereo, 0])) == nil)
    #expect(ChannelLayout(bytes([tag, 0, 1])) == nil)
    #expect(ChannelLayout(bytes([tag, 0, 1, left, 0, 0, 0])) == nil)
    #expect(ChannelLayout(bytes([tag, 0, 2, left, 0, 0, 0, 0])) == nil)
    #expect(ChannelLayout(bytes([tag, 0, .max, left, 0, 0, 0, 0])) == nil)
    #expect(ChannelLayout(bytes([tag, 0, 1, left, 0, 0, 0, 0])) != nil)
  }

  @Test func withoutOneTheNumberOfChannelsDecides() {
    #expect(ChannelLayout(channels: 1).tag == kAudioChannelLayoutTag_Mono)
    #expect(ChannelLayout(channels: 2).tag == kAudioChannelLayoutTag_Stereo)
    #expect(ChannelLayout(channels: 5).tag == kAudioChannelLayoutTag_DiscreteInOrder | 5)
    for channels in 1...64 { #expect(ChannelLayout(channels: channels).channels == channels) }
  }
}
