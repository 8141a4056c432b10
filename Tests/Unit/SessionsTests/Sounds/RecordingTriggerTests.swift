import AudioQueue
import Codecs
import Files
import Foundation
import RealTime
import System
import TestSupport
import Testing

@testable import Sessions

/// Recordings that wait for their start while they listen.
@Suite(.serialized) struct RecordingTriggerTests {
  /// Expects that a file holds the noise from one frame to another.
  private func expect(
    _ paths: [String], _ frames: Range<Int64>,
    hears: (Int64, Int) -> Float = RecordingRig.noise, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let found = try paths.flatMap { try samples(of: $0) }
    let expected = frames.flatMap { frame in (1...2).map { hears(frame, $0) } }
    expectEqual(found.count, expected.count, sourceLocation: location)
    expectEqual(found, expected, sourceLocation: location)
  }

  /// The level is exceeded, not only reached, on the second channel.
  @Test(
    arguments: ["s16", "s24", "s32", "f32", "u8", "f64", "flac"], [0, 1000, 30_000])
  func soundStartsOnItsFrame(coding: String, preRoll: Int64) throws {
    let level: Float = 0.25
    @Sendable func hears(_ frame: Int64, _ input: Int) -> Float {
      switch frame {
      case 13_007...: input == 2 || frame > 14_000 ? -0.5 : 0
      case 9000..<9100: input == 1 ? 0.25 : -0.25
      default: 0
      }
    }
    try withTemporaryFolder { folder in
      let rig = try RecordingRig(
        coding == "flac" ? "a.flac" : "a.wav", in: folder, coding: SoundCoding(coding), hears: hears
      )
      let trigger = RecordingTrigger(preRollFrames: preRoll, threshold: level)
      try rig.start(limit: 20_000, trigger: trigger)
      try rig.run(frames: 60_000)
      try wait(for: "the end") { rig.recorder.isOver }
      expectTrue(trigger.hasBegun)
      let first = max(0, 13_007 - preRoll)
      expectTrue(rig.recorder.firstFrame == first && rig.recorder.firstDeviceFrame == first)
      try expect(rig.finish(), first..<first + 20_000, hears: hears)
    }
  }

  @Test func whatIsTooQuietStartsNothing() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder) { _, _ in 0.25 }
      try rig.start(trigger: RecordingTrigger(threshold: 0.25))
      try rig.run(frames: 60_000)
      try wait(for: "all frames") { rig.recorder.receivedFrames == 60_000 }
      try expectEqual(rig.finish(), [])
      expectEqual(rig.recorder.frames, 0)
    }
  }

  /// The start is given while the recorder has less or more than its frame. With a split, the pre-roll is
  /// divided, too.
  @Test(arguments: [(Int64(30_001), Int64(24_000)), (30_001, 40_000), (90_000, 24_000)])
  func aKeyKeepsThePreRoll(start: Int64, preRoll: Int64) throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder, split: .frames(7001))
      let trigger = RecordingTrigger(preRollFrames: preRoll)
      try rig.start(trigger: trigger)
      try rig.run(frames: 30_250)
      trigger.begin(at: start)
      trigger.begin(at: 5)
      try rig.run(frames: 69_750)
      try expect(rig.finish(), max(0, start - preRoll)..<100_000)
    }
  }

  /// The history of frames that were lost is silence.
  @Test func lostFramesAreInThePreRoll() throws {
    @Sendable func hears(_ frame: Int64, _ input: Int) -> Float {
      (8000..<9000).contains(frame) ? 0 : RecordingRig.noise(frame, input)
    }
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder, hears: hears)
      let trigger = RecordingTrigger(preRollFrames: 20_000)
      try rig.start(limit: 30_000, trigger: trigger)
      try rig.run(frames: 8000)
      rig.server.miss(frames: 1000)
      try rig.run(frames: 15_000)
      trigger.begin(at: 24_123)
      try rig.run(frames: 30_000)
      try expect(rig.finish(), 4123..<34_123, hears: hears)
    }
  }

  /// From the first frame of the cycle in which the transport rolls to that of the cycle in which it
  /// stands. Neither is a boundary of the recorder's buffers.
  @Test(arguments: [0, 3000]) func theTransportStartsAndEnds(preRoll: Int64) throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder)
      try rig.start(trigger: RecordingTrigger(preRollFrames: preRoll, followsTransport: true))
      try rig.run(frames: 20_000)
      try wait(for: "a look at the transport") { rig.recorder.receivedFrames >= 18_000 }
      try rig.run(frames: 5250)
      rig.setTransport(isRolling: true)
      try rig.run(frames: 35_500)
      try wait(for: "the start") { rig.recorder.frames > 0 }
      rig.setTransport(isRolling: false)
      try rig.run(frames: 20_000)
      try wait(for: "the end") { rig.recorder.isOver }
      expectTrue(!rig.recorder.hasFailed)
      try expect(rig.finish(), (25_250 - preRoll)..<60_750)
    }
  }

  @Test func aTransportThatRollsAlreadyStartsAtOnce() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder)
      rig.setTransport(isRolling: true)
      try rig.start(limit: 30_000, trigger: RecordingTrigger(followsTransport: true))
      try rig.run(frames: 40_000)
      try wait(for: "the end") { rig.recorder.isOver }
      try expect(rig.finish(), 0..<30_000)
    }
  }

  /// Zeros are counted for each channel, in all formats.
  @Test(arguments: ["s16", "u8", "f32", "s24"]) func zerosAreCounted(coding: String) throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder, coding: SoundCoding(coding)) { frame, input in
        input == 1 && frame < 7000 || input == 2 && frame == 20_123 ? 0.5 : 0
      }
      try rig.start()
      try rig.run(frames: 36_000)
      try wait(for: "the buffers") { rig.recorder.receivedFrames == 36_000 }
      expectEqual(rig.recorder.silence, [29_000, 15_876])
      _ = try rig.finish()
    }
  }

  /// The bursts as 24 bits hold them.
  @Sendable private static func coded(_ frame: Int64, _ input: Int) -> Float {
    (bursts(frame, input) * 0x1p23).rounded(.toNearestOrEven) / 0x1p23
  }

  /// Bursts of sound, between which the noise stays below the level.
  @Sendable private static func bursts(_ frame: Int64, _ input: Int) -> Float {
    let isLoud = (10_000..<20_000).contains(frame) || (40_000..<52_001).contains(frame)
    return isLoud ? 0.5 : RecordingRig.noise(frame, input) / 8
  }

  /// The file ends with the silence, to the frame. A pre-roll does not reach into the take before.
  @Test(arguments: [Int64(0), 24_000]) func silenceEndsATakeAndTheNextOneWaits(preRoll: Int64)
    throws
  {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a-%n.wav", in: folder, hears: Self.bursts)
      let trigger = RecordingTrigger(
        preRollFrames: preRoll, threshold: 0.25,
        silence: RecordingTrigger.Silence(level: 0.25, frames: 4000), repeats: true)
      try rig.start(trigger: trigger)
      try rig.run(frames: 100_000)
      try wait(for: "both takes") { rig.done.parts.count == 2 }
      expectTrue(!rig.recorder.isOver && !trigger.hasBegun)
      let paths = try rig.finish()
      expectEqual(paths.map { fileName($0) }, ["a-001.wav", "a-002.wav"])
      try expect([paths[0]], max(0, 10_000 - preRoll)..<24_000, hears: Self.coded)
      try expect([paths[1]], max(24_000, 40_000 - preRoll)..<56_001, hears: Self.coded)
    }
  }

  /// Sound that lasts until the end of a recording that nothing starts anew.
  @Test func silenceEndsARecording() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder, hears: Self.bursts)
      let trigger = RecordingTrigger(
        silence: RecordingTrigger.Silence(level: 0.25, frames: 20_500), waits: false)
      try rig.start(trigger: trigger)
      try rig.run(frames: 100_000)
      try wait(for: "the end") { rig.recorder.isOver }
      // The silence of 20,000 frames between both bursts is too short, and that before them begins with the file.
      try expect(rig.finish(), 0..<72_501, hears: Self.coded)
    }
  }

  /// A key ends a take, and a gain amplifies the next one.
  @Test func aTakeEndsOnRequestAndTheInputHasAGain() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a-%n.wav", in: folder) { _, _ in 0.25 }
      let trigger = RecordingTrigger(repeats: true)
      expectTrue(!trigger.end(at: 5))
      try rig.start(trigger: trigger)
      trigger.begin(at: 1000)
      try rig.run(frames: 12_000)
      try wait(for: "frames") { rig.recorder.receivedFrames == 12_000 }
      expectTrue(trigger.end(at: 15_000))
      rig.recorder.gain = 2
      try rig.run(frames: 24_000)
      try wait(for: "the first take") { rig.done.parts.count == 1 }
      expectEqual(rig.done.parts.first?.frames, 14_000)
      trigger.isArmed = false
      trigger.begin(at: 40_000)
      try rig.run(frames: 12_000)
      let paths = try rig.finish()
      let second = try samples(of: paths[1])
      expectTrue(second.count == 2 * 8000 && second.allSatisfy { $0 == 0.5 })
    }
  }

  /// The end of a take is written later than it is known.
  @Test func aStartRightAfterAnEndStartsTheNextTake() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a-%n.wav", in: folder)
      let trigger = RecordingTrigger(repeats: true)
      try rig.start(trigger: trigger)
      trigger.begin(at: 1000)
      try rig.run(frames: 12_000)
      try wait(for: "frames") { rig.recorder.receivedFrames == 12_000 }
      expectTrue(trigger.end(at: 15_000) && !trigger.hasBegun)
      trigger.begin(at: 16_000)
      trigger.begin(at: 17_000)
      try rig.run(frames: 12_000)
      try wait(for: "the first take") { rig.done.parts.count == 1 }
      try wait(for: "the second take") { trigger.hasBegun }
      // An end takes a start back that has not come.
      expectTrue(trigger.end(at: 26_000))
      trigger.begin(at: 27_000)
      expectTrue(trigger.end(at: 28_000))
      try rig.run(frames: 12_000)
      let paths = try rig.finish()
      expectEqual(paths.count, 2)
      try expect([paths[0]], 1000..<15_000)
      try expect([paths[1]], 16_000..<26_000)
    }
  }

  /// A transport that started nothing ends nothing.
  @Test func aTransportThatIsNotHeardEndsNothing() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder)
      let trigger = RecordingTrigger(followsTransport: true)
      trigger.isArmed = false
      rig.setTransport(isRolling: true)
      try rig.start(trigger: trigger)
      try rig.run(frames: 12_000)
      try wait(for: "frames") { rig.recorder.receivedFrames == 12_000 }
      rig.setTransport(isRolling: false)
      try rig.run(frames: 12_000)
      try wait(for: "more frames") { rig.recorder.receivedFrames == 24_000 }
      trigger.begin(at: 30_000)
      try rig.run(frames: 24_000)
      try expect(rig.finish(), 30_000..<48_000)
    }
  }

  /// The silence of a take that the transport's roll starts later counts from then.
  @Test func silenceBeforeAnArmedTransportDoesNotCount() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder) { frame, _ in
        (30_000..<40_000).contains(frame) ? 0.5 : 0
      }
      let trigger = RecordingTrigger(
        followsTransport: true, silence: RecordingTrigger.Silence(level: 0.25, frames: 20_000))
      trigger.isArmed = false
      rig.setTransport(isRolling: true)
      try rig.start(trigger: trigger)
      try rig.run(frames: 12_000)
      try wait(for: "frames") { rig.recorder.receivedFrames == 12_000 }
      trigger.isArmed = true
      try rig.run(frames: 60_000)
      try wait(for: "the end") { rig.recorder.isOver }
      expectEqual((rig.recorder.firstFrame ?? 0) + rig.recorder.frames, 60_000)
      _ = try rig.finish()
    }
  }

  /// All channels are split at one frame, whenever the request comes.
  @Test func channelsAreSplitTogether() throws {
    try withTemporaryFolder { folder in
      let kind = try SoundFormat(
        path: "a.wav", coding: nil, bits: nil, pcm: .pcm(.signedInteger, bits: 16),
        losslessBits: 16)
      let stream = kind.stream(sampleRate: 48000, channels: 1)
      let done = (1...2).map { _ in RecordingRig.Completed() }
      let parts = try (1...2).map { channel in
        let names = try RecordingNames(
          folder.appendingPathComponent("a-\(channel).wav").path, isSplit: false)
        let done = done[channel - 1]
        return try RecordingParts(
          RecordingParts.Options(
            names, isReplacing: false, program: "Rig 1.0", onPart: { done.add($0) }),
          RecordingParts.Claim(names, isSplit: false, isReplacing: false)
        ) { path throws(SoundFileError) in
          try SoundWriter.Plan(path, container: kind.container, format: stream)
        }
      }
      var format = stream.decoded
      format.channels = 2
      let files = ChannelFiles(parts, format)
      expectTrue(!files.split())
      let writing = DispatchGroup()
      let isOver = Monitor(false)
      DispatchQueue.global().async(group: writing) {
        while !isOver.read({ $0 }) { try? files.appendSilence(frames: 10, at: 0) }
      }
      try wait(for: "parts") {
        _ = files.split()
        return done[0].parts.count > 10
      }
      isOver.change { $0 = true }
      writing.wait()
      try files.finish()
      expectEqual(done[0].parts.map(\.frames), done[1].parts.map(\.frames))
    }
  }

  /// Frames go on in another file on request, without a gap.
  @Test func aRecordingIsSplitOnRequest() throws {
    try withTemporaryFolder { folder in
      let rig = try RecordingRig("a.wav", in: folder)
      expectTrue(!rig.parts.split())
      try rig.start()
      try rig.run(frames: 30_000)
      try wait(for: "frames") { rig.recorder.receivedFrames == 30_000 }
      expectTrue(rig.parts.split())
      try rig.run(frames: 30_000)
      let paths = try rig.finish()
      expectEqual(paths.map { fileName($0) }, ["a.wav", "a-2.wav"])
      expectEqual(rig.messages.lines, [])
      try expect(paths, 0..<60_000)
    }
  }
}
