import Foundation
import Server
import SessionSupport
import TestSupport
import Testing

@testable import Sessions

/// Start groups and recordings on a hand-driven server, frame by frame.
@Suite(.serialized) struct StartGroupTests {
  @Test func groupsStartAtTheirFramesAndHostTimes() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 3000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 3000, seed: 2)
      var document = session([("a", [a]), ("b", [b]), ("c", [a]), ("d", [b]), ("e", [a])])
      document.tracks[1].start = .frame(100)
      document.groups = [
        SessionGroup(name: "frame", tracks: ["a", "b"], trigger: .frame(5003)),
        // 0.125 s are 6,000 frames.
        SessionGroup(name: "time", tracks: ["c", "d"], trigger: .hostTime(125_000_000)),
      ]
      let rig = try SessionRig(document, in: folder)
      rig.run(to: 1024)
      try rig.engine.arm()
      expectTrue(rig.engine.isPlaying && !rig.engine.isSounding)
      let words = { (1...2).map { rig.engine.motionWord(ofGroup: $0) } }
      expectTrue(
        words() == ["waiting", "waiting"] && rig.engine.motionWord(ofGroup: 0) == "stopped")
      expectEqual(
        rig.lines,
        [
          "groups[frame].trigger: waits until frame 5003, 0 seconds from now",
          "groups[time].trigger: waits until host time 125000000ns, 0 seconds from now",
        ])
      rig.run(to: 5120)
      expectEqual(words(), ["playing", "waiting"])
      rig.run(to: 10240)
      expectTrue(rig.samples(of: "a_1", 0..<5003).allSatisfy { $0 == 0 })
      expectEqual(rig.samples(of: "a_1", 5003..<8003), a.samples[0])
      expectEqual(rig.samples(of: "b_1", 5103..<8103), b.samples[0])
      expectTrue(rig.samples(of: "c_1", 0..<6000).allSatisfy { $0 == 0 })
      expectEqual(rig.samples(of: "c_1", 6000..<9000), a.samples[0])
      expectEqual(rig.samples(of: "d_1", 6000..<9000), b.samples[0])
      expectTrue(rig.samples(of: "e_1", 0..<10240).allSatisfy { $0 == 0 })
      // A time that is past is reported, and nothing starts then.
      try wait(for: "the end") {
        rig.engine.service()
        return !rig.engine.isPlaying
      }
      try rig.engine.arm()
      expectEqual(
        rig.lines.suffix(2),
        [
          "groups[frame].trigger: frame 5003 is past",
          "groups[time].trigger: host time 125000000ns is past",
        ])
      expectTrue(!rig.engine.isPlaying)
    }
  }

  @Test func aGroupPausesAndLocatesWithoutTheOthers() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 40000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 40000, seed: 2)
      var document = session([("a", [a]), ("b", [b]), ("c", [b])])
      document.groups = [SessionGroup(name: "pair", tracks: ["a", "b"])]
      let rig = try SessionRig(document, in: folder)
      let pair = try require(rig.engine.group(named: "pair"))
      try rig.engine.start([0, pair], at: 512)
      rig.run(to: 4096)
      try rig.engine.pause([pair])
      let position = Int(rig.engine.position(ofGroup: pair))
      rig.run(to: 8192)
      try rig.engine.start([pair], at: 9001)
      rig.run(to: 12288)
      expectEqual(
        rig.samples(of: "a_1", 9001..<12288), Array(a.samples[0][position..<position + 3287]))
      expectEqual(
        rig.samples(of: "b_1", 9001..<12288), Array(b.samples[0][position..<position + 3287]))
      try rig.engine.locate([pair], to: 30001, at: 14001)
      rig.run(to: 16384)
      expectEqual(rig.samples(of: "a_1", 14001..<16384), Array(a.samples[0][30001..<32384]))
      expectEqual(rig.samples(of: "b_1", 14001..<16384), Array(b.samples[0][30001..<32384]))
      // The other track went on.
      expectEqual(rig.samples(of: "c_1", 512..<16384), Array(b.samples[0][..<15872]))
    }
  }

  @Test func armedRecordingsStartWithTheTracks() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 20000)
      var document = session([("a", [a])])
      document.recordings = ["system:capture_1", "system:capture_2"].enumerated().map {
        SessionRecording(name: "\($0)", ports: [$1], file: "take-\($0).wav")
      }
      document.recordings[0].armed = true
      for index in 0..<2 { document.recordings[index].format = "f32" }
      let rig = try SessionRig(document, in: folder)
      // Each frame has a sample of its own.
      rig.server.hears = { frame, _ in Float(frame) / 65536 }
      // One that has not begun leaves no file. One that was not started is not told of.
      try rig.engine.start([0], at: 100_000)
      try rig.engine.stop([0])
      _ = rig.engine.prepareRecordings()
      rig.engine.stopRecordings()
      expectEqual(rig.lines, ["recordings[0]: nothing was recorded"])
      try rig.engine.start([0], at: 1500)
      rig.run(to: 8192)
      // One that is armed meanwhile starts at once.
      document.recordings[1].armed = true
      try rig.engine.adopt(document)
      rig.run(to: 16384)
      try rig.engine.stop([0])
      let sessionFolder = try SessionFolder(opening: folder.path)
      for (index, first) in [(0, 1500), (1, nil)] as [(Int, Int?)] {
        let reader = try SoundReader(path: sessionFolder.location(of: "take-\(index).wav"))
        var samples = [Float](repeating: 0, count: Int(reader.frames))
        let count = try samples.withUnsafeMutableBytes {
          try reader.read(startingAt: 0, frames: Int(reader.frames), into: $0)
        }
        try require(count > 2000)
        let begin = first ?? Int(samples[0] * 65536)
        expectTrue(begin == first || (8192..<14000).contains(begin))
        expectEqual(samples, (0..<count).map { Float(begin + $0) / 65536 }, "take \(index)")
      }
      expectTrue(!rig.engine.isRecording)
      // After a take, a start that records nothing is no news.
      try rig.engine.start([0], at: 100_000)
      try rig.engine.stop([0])
      expectEqual(rig.lines.count { $0.contains("nothing was recorded") }, 1, "\(rig.lines)")
    }
  }

  /// The first track to start is the last one of the session. The second one starts long after the server's
  /// return, or so soon that it joins the first one a little later.
  @Test(arguments: [30000, 9000])
  func tracksThatAreStillToStartMoveWithTheServer(start: Int) throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 60000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 20000, seed: 2)
      var document = session([("b", [b]), ("a", [a])])
      document.tracks[0].start = .frame(Int64(start))
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start([0], at: 512)
      rig.run(to: 8192)
      rig.server.goAway()
      try wait(for: "the loss") { rig.engine.device.isLost }
      rig.engine.service()
      rig.server.comeBack(counter: 1_000_000)
      try wait(for: "the return") {
        rig.engine.device.restarts == 1
          && rig.engine.players.allSatisfy { $0?.queue.isLost == false }
      }
      let client = try require(rig.server.clients.last)
      func heard(_ name: String) -> [Float] {
        client.outputs.first { $0.name == name }?.samples ?? []
      }
      // Track a plays from the first cycle after the return on. The engine learns that from the queue's event.
      rig.run(to: 1_000_000 + 2 * Int64(SessionRig.period))
      try wait(for: "the order of the second track") {
        rig.engine.service()
        return rig.engine.interruption.withLock { $0 == nil }
      }
      rig.run(to: 1_000_000 + 40 * 1024)
      let (first, second) = (heard("a_1"), heard("b_1"))
      let from = try require(first.firstIndex { $0 != 0 && !$0.isNaN })
      // The index in a.wav of the first frame that is heard.
      let index = try require(
        a.samples[0].indices.first {
          Array(a.samples[0][$0..<min($0 + 64, 60000)]) == Array(first[from..<from + 64])
        })
      let due = from + start - index
      let begin = try require(second.firstIndex { $0 != 0 && !$0.isNaN })
      try require(start == 30000 ? begin == due : begin > due)
      try require(begin + 5000 < second.count)
      expectEqual(
        Array(second[begin..<begin + 5000]), Array(b.samples[0][begin - due..<begin - due + 5000]))
      // Nothing moves any more.
      let anchor = rig.engine.runs.withLock { $0[0].anchor }
      rig.engine.service()
      expectEqual(rig.engine.runs.withLock { $0[0].anchor }, anchor)
      expectEqual(anchor, 1_000_000 + Int64(from - index))
      expectEqual(rig.lines, [])
    }
  }
}
