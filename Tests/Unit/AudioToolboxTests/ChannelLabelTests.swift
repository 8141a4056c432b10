import TestSupport
import Testing

@testable import AudioToolbox

@Suite struct ChannelLabelTests {
  @Test func everyTagHasAsManyLabelsAsChannels() throws {
    var tags = 0
    for channels in 1...64 {
      for tag in ChannelLayout.tags(channels: channels) {
        let layout = ChannelLayout(tag: tag)
        let labels = try require(layout.labels, "\(tag)")
        expectTrue(labels.count == channels && Set(labels).count == channels, "\(tag)")
        // A layout gets the first tag with the same channels.
        let found = try require(layout.described?.matchingTag)
        expectEqual(ChannelLayout(tag: found).labels, labels)
        tags += 1
      }
    }
    expectTrue(tags > 150)
    expectNil(ChannelLayout(tag: 0x00C8_0002).labels)
  }

  @Test func bitmapsAreLabelled() throws {
    let layout = ChannelLayout(
      tag: kAudioChannelLayoutTag_UseChannelBitmap, bitmap: 1 << 0 | 1 << 3 | 1 << 17 | 1 << 21)
    expectEqual(
      layout.labels,
      [
        kAudioChannelLabel_Left, kAudioChannelLabel_LFEScreen, kAudioChannelLabel_TopBackRight,
        kAudioChannelLabel_LeftTopMiddle,
      ])
  }

  private func factors(_ from: AudioChannelLayoutTag, _ to: AudioChannelLayoutTag) throws
    -> [[Float]]
  {
    try require(ChannelLayout(tag: from).mix(to: ChannelLayout(tag: to)))
  }

  @Test func channelsAreMixedAtEqualPower() throws {
    let half = Float(0.5).squareRoot()
    try expectEqual(
      factors(kAudioChannelLayoutTag_Stereo, kAudioChannelLayoutTag_Mono), [[0.5], [0.5]])
    try expectEqual(factors(kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_Stereo), [[1, 1]])
    // If there are more channels than before, each one keeps its own.
    try expectEqual(
      factors(kAudioChannelLayoutTag_Stereo, kAudioChannelLayoutTag_MPEG_5_1_A),
      [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    let sum = 1 + half
    try expectEqual(
      factors(kAudioChannelLayoutTag_MPEG_3_0_A, kAudioChannelLayoutTag_Stereo),
      [[1 / sum, 0], [0, 1 / sum], [half / sum, half / sum]])
    // No output can clip for any input.
    for channels in 1...8 {
      for tag in ChannelLayout.tags(channels: channels) {
        for target in [kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_Stereo] {
          let rows = try factors(tag, target)
          for column in rows[0].indices {
            expectTrue(rows.reduce(0) { $0 + $1[column] } <= 1.000001)
          }
        }
      }
    }
  }

  @Test func channelsGoWhereTheyBelong() throws {
    func map(_ from: AudioChannelLayoutTag, _ to: AudioChannelLayoutTag) -> [Int?]? {
      ChannelLayout(tag: from).map(to: ChannelLayout(tag: to))
    }
    expectEqual(
      map(kAudioChannelLayoutTag_MPEG_5_1_A, kAudioChannelLayoutTag_MPEG_5_1_D), [2, 0, 1, 4, 5, 3])
    expectEqual(
      map(kAudioChannelLayoutTag_Stereo, kAudioChannelLayoutTag_MPEG_3_0_A), [0, 1, nil])
    expectEqual(map(kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_Stereo), [0, 0])
    expectEqual(map(kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_MPEG_3_0_A), [nil, nil, 0])
  }
}
