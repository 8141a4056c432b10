import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// HE-AAC whose headers describe AAC-LC at half the rate: the packets alone say that there is more. Debian has no
/// encoder of it, so the files are here: 9,000 frames of a tone of 1 kHz at 44.1 kHz, in ADTS.
private enum Implicit: String, CaseIterable {
  /// Spectral band replication, two channels.
  case heAAC = """
    //FcgBFiuCEhRQAUUAFGrdWBdQAAABxgGA3sIhS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0
    tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0
    vP/xXIAXAqAhS8yAD////4xoeXYiq5SRC7o4PgqYc/w/2TVXveB8AislrarWwL1sCNaAn//ncBMQiYjE3xbHgEDQCDBS
    pEtndWtK9A9A9A8A1TU17gWptXOOebaM366MXjHSRWCRWDKymHIblQ7LBFeXRnk1o+EU/IsEUFxL+RMEhk0xVwy9EFrB
    SAImGFSX0JacEjM8PE8LH+AsNPmzASLwPA8DwPEVktbVa2BetgRrQEy6QeAAABz/8VyAEgKgIXlP///8ACOZFrgbhBy2
    LZpJbvx+z2vryWyUYuHxtjjjMwO+GGEgmiYmpqdS0vQu2neNeydi0yqWF9eycDuLtburCnu5fkSICRjn31kiFZCbhMGJ
    69o79tzVizqnLZo9zucWbNgyuF3XddvowMgPmWyUYuH28E0rySRXcAAHVQAAAgYAAAABgA7/8VyAC2K4IRlIACc/1qNC
    FiA5rAJ/IQIGb1cZInayen+cto8GpdmiJAVEQRK+sASCpFSgAkiVGAHzDVplj/4AAAAAAAAbwUQpaWlpaWlpaWlpaWlp
    aWlpaWl4//FcgBFiuCEZSAAHIAAmwhYgmtbKkL8EcEADYPFJYri0+LPBkB8y2VIX4I4LPpAEAAEGAYb0YQpaWlpaWlpa
    WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpa
    WlpaWlpaXv/xXIAUAqwhGVSt2YJCAohAYhARFIzgNth1hxpbLCkIQAAAAFTDoQxnidNuNyU5bEUOxPE8Xh7KMO4OLI0k
    fuP1/Z7i159w/Ia0kn4f/n+3jelPrn6z4iNfpZMRc7g+90cQh0iPEOME2R9N+mf5PvmtFm59j4vD3qMLYij8kfSfF+Fq
    3RVVS+Y8CSYEZgMgPmWywpCEAAAABZdIPgAAAwf/8VyAESKwIRlUdSiNAQEQ4CBRGAhCAlCimJQxyaW+EvbWWDLwgAAA
    eJxRVQxUXYv53n0PxPqvwOuwGddW40/UPYf9n6QgLM77j4b99D/xuZqd7dN+8L+ZPv4E5ywpSg8KQQVEAAHl2QbgLgPm
    aywZeEAAADxOKKqGLdpWTIWwAARUABAwAAAwHA==
    """
  /// Parametric stereo too: one channel is coded.
  case heAACv2 = """
    //FcQAuCoAFAIoCjZuaguggAAAAAASoABvMxClpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpa
    WlpaWlpaWlpaWlpaWlpaWlpaWlpaWl7/8VxAC6KgAUBCgKNWgQAAAAAOJUEABvNhClpaWlpaWlpaWlpaWlpaWlpaWlpa
    WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWl7/8VxAEkJsAQSVmGBrxyFbRC7jMWHb
    t14A/Z+GhsVo4tLG72EtjEDY0WxIgB8y5ODAJwIZONHJx6BOHJl+CQcPtPqKMTwvM0NCjvhImLZpJdjM3eT/kZaEFJkI
    jDdbaYdFAD7g8xq1SLnlMWY0DMrNmyAAoAVkpxxP4SLOIk5hLY77Llg97eu06BQAAAAAJUEAcP/xXEAMomQBIvGRlpBw
    KCtQfsmi2zDD4+KwKCljQUFcUFBVP+VaWlpSlIndPVtZixaLJ9e5VCRMvEfOcmgIolELOnzs3HwPmuasWiy0tFipVwGB
    vAdF5JIvgAAQqoAAAB1IwAMH//FcQAhigAEIMYUAixAU0AQAHQIAE8b/NJqiFP58EfBH8VwmP1jbppLKSAEgqAIj1m8B
    0lj+wAAAG2WqBf7/sAAA4P/xXEALwnwBKjGRMHsTCEINEIKNRA+RP3W2oxhAREP8jSDzAcRSI+ATfYC3BEplVCM+REy2
    sTft9hW/PpvuKZ5oJglEsjwG0EOtN0uoseDGIJDVoEsAAAAB+SoIAcD/8VxAEKJUAUgxmbRLGhTUXVlIVDdQ6IgssttR
    4gYIAAJwBJGCJZnuvoqJrs0blzQd2JSvDMUhhXIyTSDU61WFLx/x++kTF7F4wV2FzwI68J1o7+IOf3mUtA9lm1nMirKu
    W2a6NaXXarVWWSmsskkEghOE6QjDjpOn9BwNGgWgAAAAJGAc//FcQAyiTAEqMZJi0BGEKK0GZvsD/K0NOWtqEXh8fHxM
    GGphQ1EVZOgoovFTJHTQUNRJaBU0dJNMtMkwF6yEb1kkjcSRuvUc44MV6yhG64d/em8C0fUkg0AABSSLlB4qPg4RgOA=
    """

  var bytes: [UInt8] {
    Data(base64Encoded: rawValue, options: .ignoreUnknownCharacters).map(Array.init) ?? []
  }
  var codec: Codec { self == .heAAC ? .aacHE : .aacHEv2 }
  var packets: Int64 { self == .heAAC ? 7 : 8 }
}

@Suite(.tags(.program)) struct ImplicitHEAACTests {
  private func check(_ file: any MediaFile, _ kind: Implicit) throws {
    guard case .packets(let format) = file.format else {
      Issue.record("\(file.format)")
      return
    }
    expectTrue(format.codec == kind.codec && format.sampleRate == 44_100 && format.channels == 2)
    expectEqual(format.framesPerPacket, 2048)
    try expectEqual(file.frameCount, kind.packets * 2048)
    let sound = try decodedSound(file)
    expectEqual(Int64(sound.count), 2 * kind.packets * 2048)
    // The tone has its pitch: 44.1 frames to a period.
    let tone = stride(from: 16_000, to: 16_000 + 2 * 4410, by: 2).map { sound[$0] }
    let periods = zip(tone, tone.dropFirst()).count { $0 < 0 && $1 >= 0 }
    expectTrue((99...101).contains(periods), "\(periods)")
  }

  @Test(arguments: Implicit.allCases)
  fileprivate func heAACIsFoundInThePackets(kind: Implicit) throws {
    try check(MediaFiles.open(ReplayedStore(kind.bytes)), kind)
    // MPEG-4 with the rate and the durations of the core, as old encoders write it.
    let folder = try TemporaryFolder()
    let path = try folder.write(Data(kind.bytes), to: "a.aac")
    try tool("ffmpeg", ["-v", "error", "-i", path, "-c", "copy", folder.file("a.m4a")])
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("a.m4a"))))
    try check(MediaFiles.open(ReplayedStore(bytes)), kind)
    func halve(_ name: String, _ offset: Int) throws {
      let at = try require((0..<bytes.count - 4).first { bytes.name(at: $0) == name }) + offset
      let half = bytes.big(at: at, bytes: 4) / 2
      bytes.replaceSubrange(at..<at + 4, with: [24, 16, 8, 0].map { UInt8(half >> $0 & 255) })
    }
    try halve("mdhd", 16)
    try halve("mdhd", 20)
    try halve("stts", 16)
    try halve("mp4a", 28)
    try check(MediaFiles.open(ReplayedStore(bytes)), kind)
  }

  @Test(arguments: Implicit.allCases)
  fileprivate func heAACOfAStreamIsFoundInThePackets(kind: Implicit) throws {
    let parser = StreamParser(hint: nil)
    var count = 0
    try kind.bytes.withUnsafeBytes { bytes in
      try parser.parse(bytes, isDiscontinuous: false, ready: {}) { _, packets, _ in
        count += packets
      }
    }
    guard case .packets(let format)? = parser.details?.format else {
      Issue.record("nothing was found")
      return
    }
    expectTrue(format.codec == kind.codec && format.sampleRate == 44_100 && format.channels == 2)
    expectTrue(format.framesPerPacket == 2048 && Int64(count) == kind.packets)
  }
}
