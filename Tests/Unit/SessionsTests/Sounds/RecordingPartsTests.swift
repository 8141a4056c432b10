import AudioQueue
import Codecs
import Files
import Foundation
import RealTime
import System
import TestSupport
import Testing

@testable import Sessions

/// Recordings in several files.
@Suite(.serialized) struct RecordingPartsTests {
  private static let frames: Int64 = 20_000
  private static let noise = (0..<frames).flatMap { frame in
    (1...2).map { RecordingRig.noise(frame, $0) }
  }

  /// A buffer of the recorder has 6000 frames, so some parts end with one.
  @Test(
    arguments: [
      ("s16", "a.wav"), ("s24", "a.wav"), ("f32", "a.wav"), ("f64", "a.w64"), ("s24", "a.aiff"),
      ("s16", "a.au"), ("s32", "a.caf"), ("flac", "a.flac"), ("flac", "a.ogg"), ("alac", "a.m4a"),
      ("alac", "a.caf"),
    ], [RecordingSplit.frames(6000), .frames(7001), .bytes(30_000)])
  func partsOfLosslessFilesJoinedAreTheRecording(
    kind: (coding: String, name: String), split: RecordingSplit
  ) throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig(
        kind.name, in: folder, coding: SoundCoding(kind.coding), split: split)
      try rig.start(limit: Self.frames)
      try rig.run(frames: 30_000)
      let paths = try rig.finish()
      expectEqual(rig.messages.lines, [])
      let sounds = try paths.map { try samples(of: $0) }
      expectEqual(sounds.flatMap { $0 }, Self.noise)
      let name = kind.name.split(separator: ".")
      expectEqual(
        paths.map { fileName($0) },
        (1...paths.count).map {
          "\(name[0])-\(String(format: "%03d", $0)).\(name[1])"
        })
      switch split {
      case .frames(let count):
        expectTrue(sounds.dropLast().allSatisfy { $0.count == 2 * Int(count) })
        expectEqual(sounds.count, (Int(Self.frames) + Int(count) - 1) / Int(count))
      case .bytes(let count) where ["flac", "alac"].contains(kind.coding):
        expectTrue(try paths.dropLast().allSatisfy { try size($0) >= count })
      case .bytes(let count):
        let sizes = try paths.map { try size($0) }
        expectTrue(sizes.allSatisfy { $0 <= count } && sizes.count > 1)
        expectTrue(sizes.dropLast().allSatisfy { $0 > count - 20 }, "\(sizes)")
      }
    }
  }

  private func size(_ path: String) throws -> Int64 {
    try FileStore(path: path, isWritable: false).byteCount()
  }

  private func fileName(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

  /// Each part decodes to its own frames. The joints of a tone are heard as well as its middle.
  @Test(arguments: [
    ("a.m4a", "aac"), ("a.caf", "aac"), ("a.opus", "opus"), ("a.mp3", "mp3"), ("a.ogg", "vorbis"),
    ("a.wav", "ulaw"),
  ])
  func partsOfLossyFilesHaveTheirFrames(name: String, coding: String) throws {
    @Sendable func tone(_ frame: Int64, _ input: Int) -> Float {
      0.5 * Float(sin(2 * Double.pi * 440 * Double(frame) / 48000))
    }
    try withTemporaryFolder { folder in
      let rig = try RecordingRig(
        name, in: folder, coding: SoundCoding(coding), split: .frames(7001), hears: tone)
      try rig.start(limit: Self.frames)
      try rig.run(frames: 30_000)
      let sounds = try rig.finish().map { try samples(of: $0) }
      expectEqual(sounds.map { $0.count / 2 }, [7001, 7001, 5998])
      let joined = sounds.flatMap { $0 }
      let errors = (1000..<19_000).map { frame in
        abs(joined[2 * frame] - tone(Int64(frame), 1))
      }
      let worst = errors.enumerated().max { $0.element < $1.element }
      expectTrue(worst!.element < 0.15, "\(worst!.element) at frame \(worst!.offset + 1000)")
    }
  }

  /// Cycles are missed in the middle, for longer than a part. The silence is divided, too.
  @Test func lostFramesAreInTheirParts() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig(
        "a.wav", in: folder, coding: .pcm(.float, bits: 32), split: .frames(7001))
      try rig.start(limit: 40_000)
      try rig.run(frames: 10_000)
      rig.server.miss(frames: 16_000)
      try rig.run(frames: 24_000)
      let paths = try rig.finish()
      let joined = try paths.flatMap { try samples(of: $0) }
      expectTrue(paths.count == 6 && joined.count == 80_000)
      let wrong = (0..<40_000).first { frame in
        let isLost = (10_000..<26_000).contains(frame)
        return (0..<2).contains {
          joined[2 * frame + $0] != (isLost ? 0 : RecordingRig.noise(Int64(frame), $0 + 1))
        }
      }
      expectNil(wrong)
    }
  }

  /// Time references line up, and are those of the date and time.
  @Test func broadcastMetadataLineUp() throws {
    try withTemporaryFolder { folder in
      for name in ["a.wav", "a.rf64"] {
        let rig = try RecordingRig(name, in: folder, split: .frames(7001))
        try rig.start(limit: Self.frames)
        try rig.run(frames: 30_000)
        let paths = try rig.finish()
        let infos = try paths.map {
          try require(try MediaFiles.open(path: $0).chunked?.broadcastInfo())
        }
        let first = infos[0].timeReference
        expectEqual(infos.map(\.timeReference), [first, first + 7001, first + 14_002])
        for info in infos {
          expectEqual(info.originator, "Rig 1.0")
          expectEqual(info.codingHistory, "A=PCM,F=48000,W=24,M=stereo,T=Rig 1.0\r\n")
          expectTrue(info.date.wholeMatch(of: #/\d{4}-\d\d-\d\d/#) != nil)
        }
        let fields = infos[0].time.split(separator: ":").compactMap { UInt64($0) }
        expectEqual(first / 48_000, fields[0] * 3600 + fields[1] * 60 + fields[2])
      }
    }
  }

  /// A marker is in the file that has its frame, also if it comes after what was written.
  @Test func markersAreInTheirParts() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder, split: .frames(7001))
      try rig.start(limit: Self.frames)
      expectEqual(rig.parts.addMarker(at: 100), 1)
      expectEqual(rig.parts.addMarker(at: 15_000), 2)
      expectEqual(rig.parts.addMarker(at: 7001), 3)
      try rig.run(frames: 30_000)
      let markers = try rig.finish().map { path in
        try MediaFiles.open(path: path).chunked?.markers()?.markers.map {
          "\($0.name ?? ""): \($0.position)"
        }
      }
      expectEqual(markers, [["1: 100.0"], ["3: 0.0"], ["2: 998.0"]])
    }
  }

  // MARK: Names

  private let time = LocalTime(seconds: 1_700_000_000, nanoseconds: 0)

  @Test func templatesStandForNumbersAndTimes() throws {
    func path(_ template: String, isSplit: Bool = false, number: Int = 7) throws -> String {
      try RecordingNames(template, isSplit: isSplit).path(number: number, at: time)
    }
    try expectEqual(path("take.wav"), "take.wav")
    try expectEqual(path("take.wav", isSplit: true), "take-007.wav")
    try expectEqual(path("a.b/take", isSplit: true), "a.b/take-007")
    try expectEqual(path("%n-100%%.wav", isSplit: true, number: 1234), "1234-100%.wav")
    let stamp = time.formatted("%Y%m%d-%H%M%S")
    expectTrue(stamp.wholeMatch(of: #/20231114-\d{6}|20231115-\d{6}/#) != nil)
    try expectEqual(path("x/%Y%m%d-%H%M%S.wav"), "x/\(stamp).wav")
    try expectEqual(path("%Y%m%d-%H%M%S.wav", isSplit: true), "\(stamp)-007.wav")
    for (template, fault) in [("50%.wav", "%."), ("a%", "%"), ("%q%n", "%q"), ("%D.wav", "%D")] {
      #expect(throws: RecordingNames.Fault.unknownConversion(fault)) {
        try RecordingNames(template, isSplit: false)
      }
    }
  }

  @Test func theNextNumberFollowsTheHighest() throws {
    try withTemporaryFolder { folder in
      func next(_ template: String) throws -> Int {
        try RecordingNames(folder.path + "/" + template, isSplit: false).nextNumber(at: time)
      }
      try expectEqual(next("take-%n.wav"), 1)
      for name in ["take-001.wav", "take-7.wav", "take-9.aiff", "take-10.wav.raw", "take-x.wav"] {
        try Data().write(to: folder.appendingPathComponent(name))
      }
      try expectEqual(next("take-%n.wav"), 8)
      try expectEqual(next("take-%n.aiff"), 10)
      try expectEqual(next("%n.wav"), 1)
      try expectEqual(next("none/take-%n.wav"), 1)
    }
  }

  /// Takes get numbers, and a part that exists already is left alone.
  @Test func nothingIsReplacedWithoutForce() throws {
    try withTemporaryFolder { folder in
      for number in 1...2 {
        let rig = try RecordingRig("take-%n.wav", in: folder)
        try rig.start(limit: 1000)
        try rig.run(frames: 12_000)
        try expectEqual(rig.finish().map { fileName($0) }, ["take-00\(number).wav"])
      }
      let old = folder.appendingPathComponent("a-002.wav")
      try Data("old".utf8).write(to: old)
      let rig = try RecordingRig("a.wav", in: folder, split: .frames(7001))
      try rig.start(limit: Self.frames)
      try rig.run(frames: 30_000)
      let paths = try rig.finish()
      expectEqual(paths.map { fileName($0) }, ["a-001.wav", "a-003.wav", "a-004.wav"])
      try expectEqual(paths.flatMap { try samples(of: $0) }, Self.noise)
      expectEqual(text(of: old), "old")
      expectEqual(
        rig.messages.lines,
        [
          "\(old.path): there is a file of that name already: it stays as it is"
        ])
      #expect(throws: SoundFileError(.exists, path: paths[0])) {
        try RecordingRig("a.wav", in: folder, split: .frames(7001))
      }
      let again = try RecordingRig(
        "a.wav", in: folder, split: .frames(7001), isReplacing: true)
      try again.start(limit: Self.frames)
      try again.run(frames: 30_000)
      try expectEqual(again.finish().flatMap { try samples(of: $0) }, Self.noise)
      try expectEqual(samples(of: old.path).count, 14_002)
    }
  }
}
