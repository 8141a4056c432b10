import TestSupport
import Testing

@testable import AudioToolbox

/// 31: a layout is given by tag, bitmap or descriptions.
@Suite struct ChannelLayoutTests {
  private func bytes(_ words: [UInt32]) -> [UInt8] { words.withUnsafeBytes { Array($0) } }

  private let left = kAudioChannelLabel_Left

  @Test func aTagIsEnough() throws {
    for tag in [kAudioChannelLayoutTag_MPEG_5_1_A, kAudioChannelLayoutTag_Unknown | 6] {
      // The bitmap and the number of descriptions are ignored.
      let layout = try require(ChannelLayout(bytes([tag, 0xAAAA, 99])))
      expectTrue(layout.channels == 6 && layout.byteCount == 32)
      expectEqual(layout.bytes, bytes([tag, 0, 0, 0, 0, 0, 0, 0]))
      expectEqual(ChannelLayout(layout.bytes), layout)
    }
  }

  @Test func portsStandInTheOrderOfTheLabels() throws {
    func order(_ tag: AudioChannelLayoutTag) -> [Int] { ChannelLayout(tag: tag).portOrder }
    expectEqual(order(kAudioChannelLayoutTag_Stereo), [])
    expectEqual(order(kAudioChannelLayoutTag_MPEG_5_1_A), [])
    expectEqual(order(kAudioChannelLayoutTag_MPEG_3_0_B), [2, 0, 1])
    expectEqual(order(kAudioChannelLayoutTag_MPEG_5_1_D), [2, 0, 1, 4, 5, 3])
    // Channels without a meaning keep their position.
    expectEqual(order(kAudioChannelLayoutTag_DiscreteInOrder | 4), [])
    expectEqual(order(kAudioChannelLayoutTag_Unknown | 4), [])
    let right = kAudioChannelLabel_Right
    let crossed = ChannelLayout(
      tag: kAudioChannelLayoutTag_UseChannelDescriptions,
      descriptions: [.init(label: right), .init(label: left)])
    expectEqual(crossed.portOrder, [1, 0])
    let twice = ChannelLayout(
      tag: kAudioChannelLayoutTag_UseChannelDescriptions,
      descriptions: [.init(label: right), .init(label: right)])
    expectEqual(twice.portOrder, [])
  }

  @Test func whatIsRenderedGoesToTheChannelsOfTheLabels() throws {
    func mix(_ own: ChannelLayout, _ other: AudioChannelLayoutTag) -> [[Float]]? {
      own.renderingMix(to: ChannelLayout(tag: other))
    }
    let threeB = ChannelLayout(tag: kAudioChannelLayoutTag_MPEG_3_0_B)
    expectEqual(
      mix(threeB, kAudioChannelLayoutTag_MPEG_3_0_A), [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    let mono = ChannelLayout(tag: kAudioChannelLayoutTag_Mono)
    expectEqual(mix(mono, kAudioChannelLayoutTag_Stereo), [[1, 0], [0, 1]])
    expectEqual(mix(mono, kAudioChannelLayoutTag_MPEG_3_0_B), [[1, 0, 0]])
    expectNil(mix(ChannelLayout(channels: 3), kAudioChannelLayoutTag_MPEG_3_0_B))
    expectNil(mix(threeB, kAudioChannelLayoutTag_DiscreteInOrder | 3))
  }

  @Test func aBitmapCountsItsBits() throws {
    let layout = try require(
      ChannelLayout(bytes([kAudioChannelLayoutTag_UseChannelBitmap, 0b10_0111, 99])))
    expectTrue(layout.channels == 4 && layout.bitmap == 0b10_0111)
    expectEqual(ChannelLayout(layout.bytes), layout)
  }

  @Test func descriptionsComeBackBitByBit() throws {
    let words: [UInt32] = [
      kAudioChannelLayoutTag_UseChannelDescriptions, 0, 2,
      left, 2, Float(0.25).bitPattern, Float.nan.bitPattern, Float(-1).bitPattern,
      kAudioChannelLabel_UseCoordinates, 1, 1, 2, 3,
    ]
    let layout = try require(ChannelLayout(bytes(words) + [1, 2, 3]))
    expectTrue(layout.channels == 2 && layout.byteCount == 52)
    expectEqual(layout.bytes, bytes(words))
    expectEqual(ChannelLayout(layout.bytes), layout)
  }

  @Test func aLayoutThatIsCutShortIsNone() {
    let tag = kAudioChannelLayoutTag_UseChannelDescriptions
    expectNil(ChannelLayout([]))
    expectNil(ChannelLayout(bytes([kAudioChannelLayoutTag_Stereo, 0])))
    expectNil(ChannelLayout(bytes([tag, 0, 1])))
    expectNil(ChannelLayout(bytes([tag, 0, 1, left, 0, 0, 0])))
    expectNil(ChannelLayout(bytes([tag, 0, 2, left, 0, 0, 0, 0])))
    expectNil(ChannelLayout(bytes([tag, 0, .max, left, 0, 0, 0, 0])))
    expectTrue(ChannelLayout(bytes([tag, 0, 1, left, 0, 0, 0, 0])) != nil)
  }

  @Test func withoutOneTheNumberOfChannelsDecides() {
    expectEqual(ChannelLayout(channels: 1).tag, kAudioChannelLayoutTag_Mono)
    expectEqual(ChannelLayout(channels: 2).tag, kAudioChannelLayoutTag_Stereo)
    expectEqual(ChannelLayout(channels: 5).tag, kAudioChannelLayoutTag_DiscreteInOrder | 5)
    for channels in 1...64 { expectEqual(ChannelLayout(channels: channels).channels, channels) }
  }
}
