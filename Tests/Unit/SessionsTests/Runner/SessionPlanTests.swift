import Sessions
import TestSupport
import Testing

/// What a session plays where, without files and servers.
@Suite struct SessionPlanTests {
  private func plan(
    _ tracks: [SessionTrack], rate: Double = 48000, frames: Int64 = 48000, channels: Int = 2,
    _ edit: (inout SessionDocument) -> Void = { _ in }
  ) -> SessionPlan {
    var document = SessionDocument(name: "plan")
    document.tracks = tracks
    edit(&document)
    let facts = tracks.map { _ in
      SoundFacts(sampleRate: 48000, channels: channels, frames: frames)
    }
    return SessionPlan(document, facts: facts, sampleRate: rate)
  }

  private func track(_ name: String = "a", _ edit: (inout SessionTrack) -> Void = { _ in })
    -> SessionTrack
  {
    var track = SessionTrack(name: name, files: ["\(name).wav"])
    edit(&track)
    return track
  }

  @Test(arguments: [
    (SessionStart.frame(1234), Int64(1234)), (.seconds(0.5), 24000), (.beat(2), 48000),
  ])
  func startsAreFramesOfTheDevice(start: SessionStart, frame: Int64) {
    let plan = plan([track { $0.start = start }])
    expectEqual(plan.tracks[0].start, frame)
  }

  @Test func beatsFollowTheTempo() {
    let plan = plan([track { $0.start = .beat(3) }]) { $0.transport.bpm = 90 }
    expectEqual(plan.tracks[0].start, 96000)
  }

  @Test func trimsAndRateSetTheLength() {
    let plan = plan([
      track {
        $0.trimStart = 0.25
        $0.trimEnd = 0.75
        $0.rate = 2
        $0.start = .frame(100)
      }
    ])
    expectEqual(plan.tracks[0].clip.part, 12000..<36000)
    expectEqual(plan.tracks[0].length, 12000)
    expectEqual(plan.tracks[0].end, 12100)
    expectEqual(plan.end, 12100)
  }

  @Test func anotherRateChangesTheLengthInDeviceFrames() {
    let plan = plan([track()], rate: 96000)
    expectEqual(plan.end, 96000)
    expectEqual(plan.tracks[0].run(from: 50000)?.frame, 25000)
  }

  @Test func aRunBeginsInsideOrBeforeATrack() throws {
    let plan = plan([track { $0.start = .frame(1000) }])
    let before = try require(plan.tracks[0].run(from: 400))
    expectTrue(before == (0, 600))
    let inside = try require(plan.tracks[0].run(from: 1500))
    expectTrue(inside == (500, 0))
    expectNil(plan.tracks[0].run(from: 49000))
  }

  @Test func aLoopHasNoEnd() throws {
    let plan = plan([track { $0.loop = true }])
    expectNil(plan.end)
    try expectEqual(require(plan.tracks[0].run(from: 1_000_000)).frame, 1_000_000)
  }

  @Test func portsAreNamedAfterTracksAndBuses() {
    let plan = plan([track("mix"), track("a:b") { $0.bus = "mix" }]) {
      $0.buses = [SessionBus(name: "mix")]
    }
    expectEqual(plan.trackOutlets[0]?.ports, ["mix_1", "mix_2"])
    expectNil(plan.trackOutlets[1])
    expectEqual(plan.busOutlets[0]?.ports, ["mix-2_1", "mix-2_2"])
  }

  @Test func aBalancedMonoTrackHasTwoPorts() {
    let tracks = [track("a"), track("b") { $0.pan = -0.5 }]
    let plan = plan(tracks, channels: 1)
    expectEqual(plan.trackOutlets[0]?.ports, ["a_1"])
    expectEqual(plan.trackOutlets[1]?.ports, ["b_1", "b_2"])
  }

  @Test func tracksWithoutAGroupStartTogether() {
    let plan = plan([track("a"), track("b"), track("c")]) {
      $0.groups = [SessionGroup(name: "g", tracks: ["b"], trigger: .osc("/go"))]
    }
    expectEqual(plan.groups.map(\.tracks), [[0, 2], [1]])
    expectEqual(plan.groups[1].group?.name, "g")
  }

  @Test func muteAndSoloSilence() {
    var document = SessionDocument(name: "mix")
    document.tracks = [track("a"), track("b") { $0.volume = -20 }]
    expectEqual(document.gain(ofTrack: 0), 1)
    expectEqual(document.gain(ofTrack: 1), Float(0.1))
    document.tracks[1].solo = true
    expectEqual(document.gain(ofTrack: 0), 0)
    document.tracks[1].mute = true
    expectEqual(document.gain(ofTrack: 1), 0)
  }
}
