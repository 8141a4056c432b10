import CProbe
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import AudioUnits
@testable import Music
@testable import RealTime

/// Players on the test's own thread: an instrument of the test's notes the frame of each message.
@Suite struct SequencePlayerTests {
  private func note(_ number: UInt8, _ duration: Double = 0.5, channel: UInt8 = 0) -> EventContent {
    .note(channel: channel, number: number, velocity: 100, release: 64, duration: duration)
  }
  private func on(_ frame: Int, _ number: UInt8) -> Heard { Heard(frame, [0x90, number, 100]) }
  private func off(_ frame: Int, _ number: UInt8) -> Heard { Heard(frame, [0x80, number, 64]) }

  /// A sequence at 120 beats a minute, of which a beat has 24,000 frames, with a stage and a player.
  private func make(instruments: Int = 1) throws -> (EventSequence, Stage, SequencePlayer) {
    let stage = try Stage(instruments: instruments)
    let sequence = EventSequence()
    try sequence.setTarget(stage)
    let player = SequencePlayer()
    try player.setSequence(sequence)
    return (sequence, stage, player)
  }

  @Test(arguments: [nil, 64, 1000])
  func eventsComeOnTheirFrames(part: Int?) throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    // Tempos that no frame divides.
    let tempos = [(0.0, 91.3), (3, 147.7), (7.25, 60.1)]
    for (beat, tempo) in tempos { try sequence.tempoTrack.add(.tempo(tempo), at: beat) }
    let beats = (0..<200).map { Double($0) * 0.0973 }
    for beat in beats { try track.add(.channel(0xB0, 7, 1), at: beat) }
    try player.start()
    try stage.render(900_000, part: part)
    // The formula: whole stretches of each tempo before the beat.
    let wanted = beats.map { beat -> Int in
      var seconds = 0.0
      for (i, (start, tempo)) in tempos.enumerated() where beat > start {
        let end = i + 1 < tempos.count ? min(beat, tempos[i + 1].0) : beat
        seconds += (end - start) * 60 / tempo
      }
      return Int((seconds * 48000).rounded())
    }
    expectEqual(stage.instruments[0].take().map(\.frame), wanted)
    player.end()
  }

  @Test func notesEndBeforeOthersBegin() throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    try track.add(note(60, 1), at: 0)
    try track.add(note(60, 1), at: 1)
    try track.add(note(62, 0), at: 1)
    try player.start()
    try stage.render(60_000, part: nil)
    expectEqual(
      stage.instruments[0].take(),
      [
        on(0, 60), off(24_000, 60), on(24_000, 60), on(24_000, 62), off(24_000, 62),
        off(48_000, 60),
      ])
    player.end()
  }

  @Test(arguments: [1, 3, 0])
  func theEndOfATrackIsRepeated(count: Int) throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    try track.add(note(50), at: 0)
    // It would sound beyond the end of the loop.
    try track.add(note(60, 10), at: 3)
    try track.add(note(61), at: 4)
    try track.change {
      $0.length = 4
      $0.loop = EventSequence.Loop(duration: 2, count: count)
    }
    try player.start()
    try stage.render(24_000 * 13, part: nil)
    let passes = count == 0 ? 5 : count
    var wanted = [on(0, 50), off(12_000, 50)]
    for pass in 0..<passes {
      let start = 24_000 * (3 + 2 * pass)
      wanted.append(on(start, 60))
      if start + 24_000 < 24_000 * 13 { wanted.append(off(start + 24_000, 60)) }
    }
    expectEqual(stage.instruments[0].take(), wanted)
    player.end()
  }

  @Test func aLoopThatIsTooShortEndsNoCycle() throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    try track.add(.channel(0xB0, 1, 1), at: 0)
    try track.change {
      $0.length = 1e-7
      $0.loop = EventSequence.Loop(duration: 1e-7, count: 0)
    }
    try player.start()
    try stage.render(480, part: 48)
    let count = stage.instruments[0].count
    expectTrue((10...50_000).contains(count), "\(count)")
    player.end()
  }

  @Test func mutedTracksFallSilentAtOnce() throws {
    let (sequence, stage, player) = try make(instruments: 2)
    let tracks = [sequence.addTrack(), sequence.addTrack()]
    for (i, track) in tracks.enumerated() {
      try track.add(note(60 + UInt8(i), 4), at: 0)
      try track.add(note(70 + UInt8(i), 1), at: 2)
      try track.change { $0.destination = .node(stage.node(i)) }
    }
    try player.start()
    try stage.render(1000, part: nil)
    try tracks[0].change { $0.isMuted = true }
    try stage.render(24_000 * 5 - 1000, part: nil)
    expectEqual(stage.instruments[0].take(), [on(0, 60), off(1000, 60)])
    expectEqual(
      stage.instruments[1].take(), [on(0, 61), on(48_000, 71), off(72_000, 71), off(96_000, 61)])
    try player.setBeat(0)
    try tracks[0].change {
      $0.isMuted = false
      $0.isSoloed = true
    }
    try stage.render(24_000 * 5, part: nil)
    expectEqual(stage.instruments[0].take().count, 4)
    expectTrue(stage.instruments[1].take().isEmpty)
    player.end()
  }

  @Test func stoppingAndJumpingEndNotes() throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    try track.add(note(60, 8), at: 0)
    try track.add(note(62, 1), at: 4)
    try player.setBeat(0)
    try player.start()
    expectTrue(player.isPlaying)
    #expect(throws: MusicError.self) { try player.start() }
    #expect(throws: MusicError.self) { try player.setSequence(nil) }
    try stage.render(24_000, part: nil)
    expectEqual(player.beat, 1)
    try player.setBeat(3.5)
    expectEqual(player.beat, 3.5)
    try stage.render(18_000, part: nil)
    player.stop()
    expectEqual(player.beat, 4.25)
    try stage.render(100_000, part: nil)
    expectEqual(
      stage.instruments[0].take(),
      [on(0, 60), off(24_000, 60), on(36_000, 62), off(42_000, 62)])
    // It goes on where it was.
    try player.start()
    try stage.render(24_000, part: nil)
    expectEqual(player.beat, 5.25)
    expectTrue(stage.instruments[0].take().isEmpty)
    player.end()
  }

  @Test func theRateChangesTheTempo() throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    for beat in 0..<8 { try track.add(.channel(0xB0, 7, UInt8(beat)), at: Double(beat)) }
    try player.setRate(2)
    try player.start()
    try stage.render(24_000 + 6_000, part: nil)
    try player.setRate(0.5)
    try stage.render(24_000 * 3, part: nil)
    // The third beat is half a beat of 48,000 frames away.
    expectEqual(stage.instruments[0].take().map(\.frame), [0, 12_000, 24_000, 54_000])
    expectTrue(player.beat == 4)
    player.end()
  }

  @Test func editsAreHeardFromTheNextRenderOn() throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    try track.add(note(60, 1), at: 0)
    try track.add(note(62, 1), at: 2)
    try player.start()
    try stage.render(12_000, part: 100)
    // The note that sounds ends where it would have.
    try track.remove(from: 0, to: 1, closesGap: false)
    try track.add(note(64, 1), at: 1)
    try track.move(from: 2, to: 3, by: 1)
    try stage.render(24_000, part: 100)
    // A quarter of the beat that is left has 6,000 frames, at half the tempo 12,000.
    try sequence.tempoTrack.add(.tempo(60), at: 0)
    try stage.render(24_000 * 8, part: 100)
    let heard = stage.instruments[0].take()
    expectEqual(Array(heard.prefix(3)), [on(0, 60), off(24_000, 60), on(24_000, 64)])
    // From beat 1.5 at frame 36,000 on, a beat has 48,000 frames.
    expectEqual(
      Array(heard.dropFirst(3)),
      [off(60_000, 64), on(36_000 + 72_000, 62), off(36_000 + 120_000, 62)])
    player.end()
  }

  @Test func offsetsAndEmptyStretchesAreKept() throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    try track.add(.channel(0xC0, 5, 0), at: 1)
    try track.add(.channel(0xB0, 1, 2), at: 2)
    try track.change { $0.offset = -1.5 }
    try player.start()
    try stage.render(48_000, part: nil)
    expectEqual(stage.instruments[0].take(), [Heard(12_000, [0xB0, 1, 2])])
    player.end()
  }

  @Test func aPlayerKeepsSoManyNotes() throws {
    let (sequence, stage, player) = try make()
    // More notes than a player keeps are not begun, and all that were begun end.
    for track in 0..<40 {
      let track = (track, sequence.addTrack())
      for i in 0..<20 { try track.1.add(note(UInt8(i + track.0), 1), at: 0) }
    }
    try player.start()
    try stage.render(48_000, part: nil)
    let heard = stage.instruments[0].take()
    let begun = heard.count { $0.bytes[0] == 0x90 }
    expectEqual(begun, SequenceFeed.mostNotes)
    expectEqual(heard.count { $0.bytes[0] == 0x80 }, begun)
    player.end()
  }

  @Test func cyclesAllocateNothing() throws {
    try require(cue_probe_works() || isSanitized)
    let (sequence, stage, player) = try make()
    for number in 0..<16 {
      let track = sequence.addTrack()
      for i in 0..<100 { try track.add(note(UInt8(number), 0.1), at: Double(i) * 0.1) }
      try track.change { $0.loop = EventSequence.Loop(duration: 2, count: 0) }
    }
    try player.start()
    _ = stage.render(512)
    cue_probe_enter()
    for _ in 0..<1000 { _ = stage.render(512) }
    let counts = cue_probe_leave()
    expectTrue(
      counts.allocations == 0 && counts.frees == 0 && counts.locks == 0 && counts.retains == 0,
      "\(counts)")
    expectTrue(stage.instruments[0].count > 5000)
    player.end()
  }

  @Test func theProgramHearsOfItsEvents() async throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    for i in 0..<4 { try track.add(.user([UInt8(i)]), at: Double(i)) }
    try track.change {
      $0.length = 4
      $0.loop = EventSequence.Loop(duration: 2, count: 2)
    }
    let told = Mutex<[(beat: Double, data: [UInt8])]>([])
    sequence.setUserCallback { id, beat, data, slice in
      if id == track.id && slice.contains(beat) { told.withLock { $0.append((beat, data)) } }
    }
    try player.start()
    try stage.render(24_000 * 7, part: nil)
    player.stop()
    let deadline = Date().addingTimeInterval(30)
    while told.withLock({ $0.count }) < 6, Date() < deadline {
      try await Task.sleep(for: .milliseconds(1))
    }
    expectEqual(told.withLock { $0.map(\.beat) }, [0, 1, 2, 3, 4, 5])
    expectEqual(told.withLock { $0.map(\.data) }, [[0], [1], [2], [3], [2], [3]])
    player.end()
  }

  /// A player whose graph is rendered by another thread, while this one edits everything.
  @Test(.timeLimit(.minutes(3)))
  func editsWhileAnotherThreadRenders() throws {
    let (sequence, stage, player) = try make()
    let track = sequence.addTrack()
    for i in 0..<64 { try track.add(note(UInt8(i), 0.2), at: Double(i) * 0.25) }
    let isOver = Atomic<Bool>(false)
    let renders = Atomic<Int>(0)
    let thread = Thread {
      while !isOver.load(ordering: .acquiring) {
        _ = stage.render(256)
        renders.add(1, ordering: .relaxed)
      }
    }
    thread.start()
    for round in 0..<300 {
      if !player.isPlaying { try player.start() }
      switch round % 6 {
      case 0: try track.add(note(100, 1), at: player.beat + 0.1)
      case 1: try player.setBeat(Double(round % 7))
      case 2: try track.change { $0.isMuted.toggle() }
      case 3: try sequence.tempoTrack.add(.tempo(60 + Double(round)), at: Double(round % 5))
      case 4: player.stop()
      default: try player.setRate(1 + Double(round % 10) / 10)
      }
    }
    player.stop()
    let before = renders.load(ordering: .relaxed)
    while renders.load(ordering: .relaxed) < before + 10 { usleep(100) }
    player.end()
    isOver.store(true, ordering: .releasing)
    while !thread.isFinished { usleep(100) }
    _ = stage.render(16)
    var sounding = 0
    for event in stage.instruments[0].take() {
      if event.bytes[0] == 0x90 { sounding += 1 } else { sounding -= 1 }
    }
    expectEqual(sounding, 0)
  }
}
