import Codecs
import FileSupport
import Foundation
import Testing

@testable import Files

/// Headers whose numbers overflow in calculations.
@Suite struct OverflowTests {
  private static let tooMany = SoundFileError.Kind.damaged("it has too many packets")

  @Test func aCAFFileMayPromiseTooManyFrames() throws {
    var bytes = Array("caff".utf8) + [0, 1, 0, 0]
    bytes += Array("desc".utf8) + [UInt8](32, count: 8, bigEndian: true)
    bytes += [UInt8](bigEndian: 8_000) + Array("ulaw".utf8)
    for number in [0, 1, 1 << 20, 1, 8] { bytes += [UInt8](number, count: 4, bigEndian: true) }
    bytes += Array("pakt".utf8) + [UInt8](24, count: 8, bigEndian: true)
    bytes += [UInt8](repeating: 0, count: 24)
    bytes += Array("data".utf8) + [UInt8](1 << 60, count: 8, bigEndian: true) + [0, 0, 0, 0]
    let error = #expect(throws: SoundFileError.self) {
      _ = try PacketFileReader(HeadStore(bytes, apparentByteCount: 1 << 61)).frameCount
    }
    expectEqual(error?.kind, Self.tooMany)
  }

  @Test func anRF64FileMayPromiseTooManyFrames() throws {
    func word(_ number: Int) -> [UInt8] { [UInt8](number, count: 4, bigEndian: false) }
    func half(_ number: Int) -> [UInt8] { [UInt8](number, count: 2, bigEndian: false) }
    let all = Int64(1) << 62
    var bytes = Array("RF64".utf8) + word(-1) + Array("WAVEds64".utf8) + word(28)
    bytes += [UInt8](all, count: 8, bigEndian: false)
    bytes += [UInt8](all, count: 8, bigEndian: false) + [UInt8](repeating: 0, count: 12)
    bytes += Array("fmt ".utf8) + word(20) + half(0x31) + half(1) + word(8_000) + word(1_625)
    bytes += half(65) + half(0) + half(2) + half(320)
    bytes += Array("data".utf8) + word(-1) + [UInt8](repeating: 0, count: 650)
    let error = #expect(throws: SoundFileError.self) {
      try PacketFileReader(HeadStore(bytes, apparentByteCount: .max))
    }
    expectEqual(error?.kind, Self.tooMany)
  }

  @Test func aSeekMayGoTooFar() throws {
    var bytes = Array(".snd".utf8)
    for number in [24, 0xFFFF_FFFF, 2, 8_000, 1] {
      bytes += [UInt8](number, count: 4, bigEndian: true)
    }
    bytes += [UInt8](repeating: 1, count: 100)
    let parser = StreamParser(hint: nil)
    try bytes.withUnsafeBytes {
      try parser.parse($0, isDiscontinuous: false, ready: {}, packets: { _, _, _ in })
    }
    try expectNil(require(parser.details).packetCount)
    expectNil(parser.seek(toPacket: .max))
    let last: Int64 = .max - 24
    let location = parser.seek(toPacket: last)
    expectEqual(location?.position, last)
  }
}
