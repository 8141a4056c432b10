import Foundation
import Glibc
import SessionSupport
import Synchronization
import TestSupport
import Testing

@testable import Graph
@testable import PluginHost
@testable import Sessions

/// Sessions on a hand-driven server, frame by frame.
@Suite(.serialized) struct SessionEngineTests {
  private func everything(_ engine: SessionEngine) -> [Int] { Array(engine.groupNames.indices) }

  @Test func tracksStartOnTheirFrames() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 9000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 7000, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.tracks[1].start = .frame(1001)
      let rig = try SessionRig(document, in: folder)
      expectEqual(rig.engine.portNames, ["a_1", "a_2", "b_1"])
      try rig.engine.start(everything(rig.engine), at: 1500)
      rig.run(to: 12288)
      expectTrue(rig.samples(of: "a_1", 0..<1500).allSatisfy { $0 == 0 })
      expectEqual(rig.samples(of: "a_1", 1500..<10500), a.samples[0])
      expectEqual(rig.samples(of: "a_2", 1500..<10500), a.samples[1])
      expectEqual(rig.samples(of: "b_1", 2501..<9501), b.samples[0])
      expectTrue(rig.samples(of: "b_1", 9501..<12288).allSatisfy { $0 == 0 })
      // The session is over, and begins anew.
      try wait(for: "the end") {
        rig.engine.service()
        return !rig.engine.isPlaying
      }
      try rig.engine.start(everything(rig.engine), at: 20000)
      rig.run(to: 30720)
      expectEqual(rig.samples(of: "a_1", 20000..<29000), a.samples[0])
      expectEqual(rig.lines, [])
    }
  }

  @Test func filesInARowHaveNoGap() throws {
    try withTemporaryFolder { folder in
      let files = try (1...3).map {
        try WaveFile("\($0).wav", in: folder, frames: 1000 * $0 + 7, seed: UInt64($0))
      }
      let rig = try SessionRig(session([("row", files)]), in: folder)
      try rig.engine.start([0], at: 512)
      rig.run(to: 8192)
      let whole = files.flatMap { $0.samples[0] }
      expectEqual(rig.samples(of: "row_1", 512..<512 + whole.count), whole)
    }
  }

  @Test func filesOfOtherFormatsFollowWithoutAGap() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, coding: .s16, frames: 3001)
      let b = try WaveFile("b.wav", in: folder, coding: .f32, frames: 2003, seed: 5)
      let rig = try SessionRig(session([("row", [a, b])]), in: folder)
      try rig.engine.start([0], at: 512)
      rig.run(to: 6144)
      expectEqual(rig.samples(of: "row_2", 512..<5516), a.samples[1] + b.samples[1])
    }
  }

  @Test func aSingleChannelInARowIsHeardOnBothSides() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 3001)
      let b = try WaveFile("b.wav", in: folder, frames: 2003, seed: 5)
      let rig = try SessionRig(session([("row", [a, b])]), in: folder)
      try rig.engine.start([0], at: 512)
      rig.run(to: 6144)
      for channel in 0..<2 {
        expectEqual(
          rig.samples(of: "row_\(channel + 1)", 512..<5516), a.samples[0] + b.samples[channel])
      }
    }
  }

  @Test func trimsAndLoopsAreExact() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, rate: 8000, frames: 4000)
      var document = session([("a", [a])])
      document.tracks[0].trimStart = 0.1
      document.tracks[0].trimEnd = 0.2
      document.tracks[0].loop = true
      let rig = try SessionRig(document, in: folder, sampleRate: 8000)
      try rig.engine.start([0], at: 256)
      rig.run(to: 2304)
      let part = Array(a.samples[0][800..<1600])
      expectEqual(rig.samples(of: "a_1", 256..<2256), Array((part + part + part)[..<2000]))
    }
  }

  @Test func aPausedSessionGoesOnWithTheNextFrame() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 30000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 30000, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.tracks[1].start = .frame(300)
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start(everything(rig.engine), at: 1000)
      rig.run(to: 5120)
      try rig.engine.pause(everything(rig.engine))
      expectTrue(rig.engine.isPaused)
      expectEqual(rig.engine.position(ofGroup: 0), 4120)
      rig.run(to: 10240)
      expectTrue(rig.samples(of: "a_1", 5120..<10240).allSatisfy { $0 == 0 })
      try rig.engine.start(everything(rig.engine), at: 20001)
      rig.run(to: 30720)
      expectEqual(rig.samples(of: "a_1", 20001..<30720), Array(a.samples[0][4120..<14839]))
      expectEqual(rig.samples(of: "b_1", 20001..<30720), Array(b.samples[0][3820..<14539]))
    }
  }

  @Test func locatingMovesAllTracksTogether() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 20000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 20000, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.tracks[1].start = .frame(12000)
      let rig = try SessionRig(document, in: folder)
      // While it stands still, and while it plays.
      try rig.engine.locate(everything(rig.engine), to: 11111)
      expectTrue(!rig.engine.isPlaying)
      try rig.engine.start(everything(rig.engine), at: 512)
      rig.run(to: 4096)
      expectEqual(rig.samples(of: "a_1", 512..<4096), Array(a.samples[0][11111..<14695]))
      expectTrue(rig.samples(of: "b_1", 512..<1401).allSatisfy { $0 == 0 })
      expectEqual(rig.samples(of: "b_1", 1401..<4096), Array(b.samples[0][..<2695]))
      try rig.engine.locate(everything(rig.engine), to: 13000, at: 16385)
      expectTrue(rig.engine.isPlaying)
      rig.run(to: 20480)
      expectEqual(rig.samples(of: "a_1", 16385..<20480), Array(a.samples[0][13000..<17095]))
      expectEqual(rig.samples(of: "b_1", 16385..<20480), Array(b.samples[0][1000..<5095]))
    }
  }

  @Test func aStoppedSessionBeginsAnew() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 20000)
      let rig = try SessionRig(session([("a", [a])]), in: folder)
      try rig.engine.start([0], at: 512)
      rig.run(to: 4096)
      try rig.engine.stop([0])
      expectEqual(rig.engine.position(ofGroup: 0), 0)
      rig.run(to: 8192)
      expectTrue(rig.samples(of: "a_1", 4096..<8192).allSatisfy { $0 == 0 })
      try rig.engine.start([0], at: 16000)
      rig.run(to: 20480)
      expectEqual(rig.samples(of: "a_1", 16000..<20480), Array(a.samples[0][..<4480]))
    }
  }

  @Test func aGroupStartsAndPausesAlone() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 20000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 20000, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.groups = [SessionGroup(name: "late", tracks: ["b"], trigger: .osc("/late"))]
      let rig = try SessionRig(document, in: folder)
      let late = try require(rig.engine.group(named: "late"))
      expectEqual(rig.engine.manualGroups, [0])
      expectEqual(rig.engine.groups(triggeredBy: "/late"), [late])
      try rig.engine.start(rig.engine.manualGroups, at: 512)
      try rig.engine.start([late], at: 3000)
      rig.run(to: 6144)
      expectEqual(rig.samples(of: "b_1", 3000..<6144), Array(b.samples[0][..<3144]))
      try rig.engine.pause([0])
      rig.run(to: 10240)
      expectEqual(rig.samples(of: "b_1", 3000..<10240), Array(b.samples[0][..<7240]))
      expectTrue(rig.samples(of: "a_1", 7168..<10240).allSatisfy { $0 == 0 })
    }
  }

  @Test func triggersThatAreFramesStartTheirGroups() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 3000)
      var document = session([("a", [a])])
      document.groups = [SessionGroup(name: "g", tracks: ["a"], trigger: .frame(2047))]
      let rig = try SessionRig(document, in: folder)
      try rig.engine.arm()
      rig.run(to: 6144)
      expectTrue(rig.samples(of: "a_1", 0..<2047).allSatisfy { $0 == 0 })
      expectEqual(rig.samples(of: "a_1", 2047..<5047), a.samples[0])
    }
  }

  @Test func volumeMuteSoloAndBalanceChangeAtOnce() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 40000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, frames: 40000, seed: 2)
      let rig = try SessionRig(session([("a", [a]), ("b", [b])]), in: folder)
      let engine = rig.engine
      try engine.start(everything(engine), at: 0)
      rig.run(to: 1024)
      func heard(_ port: String, _ file: [Float], times gain: Float) -> Bool {
        rig.settle()
        let from = Int(rig.server.counter)
        rig.run(to: Int64(from) + 512)
        return rig.samples(of: port, from..<from + 512)
          == file[from..<from + 512].map { $0 * gain }
      }
      var document = engine.document
      document.tracks[0].volume = -20
      try engine.adopt(document)
      expectTrue(heard("a_1", a.samples[0], times: 0.1))
      document.tracks[1].solo = true
      try engine.adopt(document)
      expectTrue(heard("a_1", a.samples[0], times: 0))
      expectTrue(heard("b_1", b.samples[0], times: 1))
      document.tracks[1].solo = false
      document.tracks[0].volume = 0
      document.tracks[0].pan = -0.5
      try engine.adopt(document)
      expectTrue(heard("a_1", a.samples[0], times: 1))
      expectTrue(heard("a_2", a.samples[1], times: 0.5))
      document.tracks[0].mute = true
      try engine.adopt(document)
      expectTrue(heard("a_2", a.samples[1], times: 0))
    }
  }

  @Test func whatCannotChangeWhileASessionRunsIsRefused() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 4000)
      let rig = try SessionRig(session([("a", [a])]), in: folder)
      var document = rig.engine.document
      document.tracks[0].loop = true
      #expect(throws: SessionRunError.self) { try rig.engine.adopt(document) }
      document = rig.engine.document
      document.tracks[0].pan = 1
      #expect(throws: SessionRunError.self) { try rig.engine.adopt(document) }
      expectEqual(rig.engine.document.tracks[0].pan, 0)
    }
  }

  /// A port that patchbays know must not become two, but a bus has two channels.
  @Test func aSingleChannelIsMovedWhereItHasTwoWaysToGo() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 20000)
      var document = session([("a", [a]), ("b", [a])])
      document.buses = [SessionBus(name: "main")]
      document.tracks[0].bus = "main"
      document.tracks[1].pan = 0.25
      let rig = try SessionRig(document, in: folder)
      try rig.engine.start(everything(rig.engine), at: 0)
      rig.run(to: 1024)
      document.tracks[0].pan = -1
      document.tracks[1].pan = 1
      try rig.engine.adopt(document)
      rig.settle()
      let from = Int(rig.server.counter)
      rig.run(to: Int64(from) + 512)
      let sound = Array(a.samples[0][from..<from + 512])
      expectEqual(rig.samples(of: "main_1", from..<from + 512), sound)
      expectTrue(rig.samples(of: "main_2", from..<from + 512).allSatisfy { $0 == 0 })
      expectTrue(rig.samples(of: "b_1", from..<from + 512).allSatisfy { $0 == 0 })
      expectEqual(rig.samples(of: "b_2", from..<from + 512), sound)
    }
  }

  @Test func busesAddTheirTracks() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4000, seed: 1)
      let b = try WaveFile("b.wav", in: folder, channels: 1, frames: 4000, seed: 2)
      var document = session([("a", [a]), ("b", [b])])
      document.buses = [SessionBus(name: "main"), SessionBus(name: "band")]
      document.buses[1].bus = "main"
      document.buses[1].gain = -20
      document.tracks[0].bus = "main"
      document.tracks[1].bus = "band"
      let rig = try SessionRig(document, in: folder)
      expectEqual(rig.engine.portNames, ["main_1", "main_2"])
      try rig.engine.start(everything(rig.engine), at: 0)
      rig.run(to: 3840)
      for channel in 0..<2 {
        let sum = zip(a.samples[channel], b.samples[0]).map { $0 + $1 * 0.1 }
        expectEqual(rig.samples(of: "main_\(channel + 1)", 0..<3840), Array(sum[..<3840]))
      }
    }
  }

  @Test func aMissingFileIsReportedAndSilent() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, frames: 4000)
      var document = session([("a", [a]), ("b", [a])])
      document.tracks[1].files = ["nowhere.wav"]
      let rig = try SessionRig(document, in: folder)
      try wait(for: "the message") { !rig.lines.isEmpty }
      expectTrue(rig.lines[0].contains("nowhere.wav"))
      try rig.engine.start(everything(rig.engine), at: 0)
      rig.run(to: 1024)
      expectEqual(rig.samples(of: "a_1", 0..<1024), Array(a.samples[0][..<1024]))
      expectTrue(rig.samples(of: "b_1", 0..<1024).allSatisfy { $0 == 0 })
    }
  }

  @Test func fadesAreAsFarAsTheyWouldBe() throws {
    try withTemporaryFolder { folder in
      let a = try WaveFile("a.wav", in: folder, channels: 1, frames: 20000)
      var document = session([("a", [a])])
      document.tracks[0].fadeIn = 0.2
      document.tracks[0].fadeOut = 0.1
      let whole = try SessionRig(document, in: folder)
      try whole.engine.start([0], at: 0)
      whole.run(to: 20480)
      for begin in [4800, 17000] {
        let part = try SessionRig(document, in: folder)
        try part.engine.locate([0], to: Int64(begin))
        try part.engine.start([0], at: 0)
        part.run(to: 2560)
        let expected = whole.samples(of: "a_1", begin..<begin + 2560)
        expectTrue(expected.contains { $0 != 0 })
        expectTrue(
          zip(part.samples(of: "a_1", 0..<2560), expected).allSatisfy { abs($0 - $1) < 1e-4 })
      }
    }
  }

  /// The bundles are read once, and the running order of the graph changes as often for one track as for 64:
  /// the time that a session takes to come up is that of its files and plugins.
  @Test func manyTracksComeUpInAsManyStepsAsOne() throws {
    try withTemporaryFolder { folder in
      let uri = "http://lv2plug.in/plugins/eg-amp"
      let bundle = folder.appendingPathComponent("lv2/eg-amp.lv2")
      try FileManager.default.createDirectory(
        at: bundle.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        atPath: String(try World().description(of: uri).bundle.dropLast()), toPath: bundle.path)
      setenv("LV2_PATH", bundle.deletingLastPathComponent().path, 1)
      defer { unsetenv("LV2_PATH") }
      try validate(uri)
      let opens = try FileOpens(of: bundle.appendingPathComponent("manifest.ttl"))
      let a = try WaveFile("a.wav", in: folder, frames: 4800)
      let steps = try [1, 64].map { count in
        var document = session((1...count).map { ("t\($0)", [a]) })
        for index in document.tracks.indices {
          document.tracks[index].chain = [SessionPlugin(id: "amp\(index)", uri: uri)]
        }
        let rig = try SessionRig(document, in: folder)
        expectEqual(opens.take(), 1)
        return rig.engine.session.graph.state.withLock { $0.nextOrder }
      }
      expectEqual(steps[0], steps[1], "\(steps)")
    }
  }
}

/// Counts how often a file is opened, by any process.
private final class FileOpens {
  private let descriptor: Int32

  init(of file: URL) throws {
    descriptor = inotify_init1(Int32(IN_NONBLOCK))
    // Equal events in a row count as one: each close keeps two openings apart.
    let watch = inotify_add_watch(descriptor, file.path, UInt32(IN_OPEN | IN_CLOSE_NOWRITE))
    guard watch >= 0 else { throw SupportError("\(file.path) cannot be watched") }
  }

  deinit { close(descriptor) }

  /// Returns the number of openings since the last call.
  func take() -> Int {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = max(0, read(descriptor, &bytes, bytes.count))
    var opens = 0
    var offset = 0
    while offset < count {
      let event = bytes.withUnsafeBytes {
        $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
      }
      if event.mask & UInt32(IN_OPEN) != 0 { opens += 1 }
      offset += MemoryLayout<inotify_event>.size + Int(event.len)
    }
    return opens
  }
}
