import Codecs
import FileSupport
import Foundation
import Testing

@testable import Files

/// A file type with a codec.
struct CodedKind: Sendable, CustomTestStringConvertible {
  let codec: Codec
  let container: Container
  var rate = 44_100.0

  init(_ codec: Codec, _ container: Container, rate: Double = 44_100) {
    self.codec = codec
    self.container = container
    self.rate = rate
  }

  var testDescription: String { "\(codec) in \(container)" }
}

@Suite struct KilledRecordingTests {
  @Test(arguments: [
    CodedKind(.aac, .m4a), CodedKind(.aac, .caf), CodedKind(.mp3, .caf), CodedKind(.mp3, .mp4),
    CodedKind(.opus, .caf, rate: 48_000), CodedKind(.opus, .mp4, rate: 48_000),
    CodedKind(.ac3, .m4a, rate: 48_000), CodedKind(.alac, .m4a), CodedKind(.alac, .caf),
    CodedKind(.aac, .threeGP), CodedKind(.flac, .caf),
    CodedKind(.mp3, .mp3), CodedKind(.opus, .ogg, rate: 48_000), CodedKind(.vorbis, .ogg),
    CodedKind(.flac, .flac),
  ])
  func whatAKillLeavesBeginsWithTheSound(kind: CodedKind) throws {
    let original = risingTone(frames: Int(2.5 * kind.rate), rate: kind.rate)
    let store = ReplayedStore()
    let encoding = try SoundEncoding(store, kind.container, kind.codec, rate: kind.rate)
    let step = 1_000
    for start in stride(from: 0, to: original.count, by: step) {
      try encoding.write(Array(original[start..<min(original.count, start + step)]))
    }
    if ![.caf, .m4a, .mp4, .threeGP].contains(kind.container) { try encoding.file.checkpoint() }
    // The file was not completed: these bytes remain after a kill.
    let left = store.bytes
    let file = try MediaFiles.open(ReplayedStore(left), hint: kind.container)
    let priming = encoding.converter.encodedPriming.leading
    try expectEqual(file.packetTable?.primingFrames ?? 0, priming)
    let sound = try decodedSound(file)
    expectTrue(Double(sound.count) > kind.rate)
    expectEqual(lateness(sound, behind: original), 0)

    // While its end is unknown, a file has all frames of its packets.
    let perPacket = encoding.converter.encoder?.format.framesPerPacket ?? 0
    if perPacket > 0 {
      let packets = try encoding.file.packetCount
      try expectEqual(encoding.file.frameCount, packets * Int64(perPacket) - Int64(priming))
    }
    try encoding.finish()
    try expectEqual(encoding.file.frameCount, Int64(original.count))
    let whole = try MediaFiles.open(ReplayedStore(store.bytes), hint: kind.container)
    try expectEqual(whole.frameCount, Int64(original.count))
    try expectEqual(lateness(decodedSound(whole), behind: original), 0)
  }
}
