import Analysis
import Codecs
import FileSupport
import Foundation
import RealTime
import Sessions
import Testing

/// The sums of samples.
@Suite struct DigestTests {
  @Test func theSumIsThatOfTheStandard() throws {
    let digest = try require(SampleDigest())
    for part in ["a", "bc"] { Array(part.utf8).withUnsafeBytes { digest.add($0) } }
    expectEqual(
      digest.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test func theFormDependsOnTheKindOfSamplesOnly() {
    func name(_ format: StreamFormat) -> String {
      SampleDigest.name(of: SampleDigest.form(of: format))
    }
    func pcm(_ kind: PCMFormat.Kind, _ bits: Int) -> StreamFormat {
      .pcm(
        PCMFormat(sampleRate: 1, channels: 1, kind: kind, bitsPerSample: bits, isBigEndian: true))
    }
    func packets(_ codec: Codec) -> StreamFormat {
      .packets(PacketFormat(codec: codec, sampleRate: 1, channels: 1))
    }
    expectTrue(
      name(pcm(.unsignedInteger, 8)) == "s32le" && name(pcm(.signedInteger, 24)) == "s32le")
    expectTrue(name(pcm(.float, 32)) == "f32le" && name(pcm(.float, 64)) == "f64le")
    expectTrue(name(packets(.flac)) == "s32le" && name(packets(.aac)) == "f32le")
  }
}
