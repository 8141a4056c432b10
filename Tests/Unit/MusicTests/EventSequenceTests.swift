import Foundation
import TestSupport
import Testing

@testable import Files
@testable import Music

/// Sequences without a player: time, edits, iterators and files.
@Suite struct EventSequenceTests {
  private func note(_ number: UInt8, _ duration: Double = 1) -> EventContent {
    .note(channel: 0, number: number, velocity: 100, release: 64, duration: duration)
  }
  private func beats(_ track: EventTrack) throws -> [Double] { try track.events.map(\.beat) }

  @Test func beatsAndSecondsAreInverse() throws {
    let sequence = EventSequence()
    expectEqual(sequence.tempoMap.seconds(at: 3), 1.5)
    for (beat, tempo) in [(2.0, 60.0), (4, 240), (4, 30)] {
      try sequence.tempoTrack.add(.tempo(tempo), at: beat)
    }
    let map = sequence.tempoMap
    // Two beats at 120, two at 60, then 30.
    expectEqual(map.seconds(at: 4), 3)
    expectEqual(map.seconds(at: 6), 7)
    for beat in stride(from: 0.0, through: 50, by: 0.37) {
      expectTrue(abs(map.beat(at: map.seconds(at: beat)) - beat) < 1e-9)
    }
    #expect(throws: MusicError.self) { try sequence.tempoTrack.add(.tempo(0), at: 0) }
    #expect(throws: MusicError.self) { try sequence.tempoTrack.add(.tempo(.nan), at: 0) }
    #expect(throws: MusicError.self) { try sequence.tempoTrack.add(note(60), at: 0) }
    #expect(throws: MusicError.self) { try sequence.addTrack().add(.tempo(60), at: 0) }
  }

  @Test func barsFollowTheTimeSignatures() throws {
    let sequence = EventSequence()
    try sequence.tempoTrack.add(.meta(0x58, [3, 2, 24, 8]), at: 0)
    try sequence.tempoTrack.add(.meta(0x58, [6, 3, 24, 8]), at: 6)
    let map = sequence.tempoMap
    let wanted: [(Double, Int, Int, Int)] = [
      (0, 1, 1, 0), (2.5, 1, 3, 240), (3, 2, 1, 0), (6, 3, 1, 0), (7.5, 3, 4, 0), (9, 4, 1, 0),
      (9.25, 4, 1, 240),
    ]
    for (beat, bar, number, part) in wanted {
      let place = TempoMap.BarBeat(bar: bar, beat: number, part: part, parts: 480)
      expectEqual(map.barBeat(at: beat, parts: 480), place)
      expectEqual(map.beat(of: place), beat)
    }
  }

  @Test func eventsAreMovedCutAndCopied() throws {
    let sequence = EventSequence()
    let (track, other) = (sequence.addTrack(), sequence.addTrack())
    for beat in [3.0, 1, 2, 1] { try track.add(note(UInt8(beat)), at: beat) }
    try expectEqual(beats(track), [1, 1, 2, 3])
    try expectEqual(track.length, 4)
    try track.copy(from: 1, to: 3, into: other, at: 10, makesRoom: false)
    try expectEqual(beats(other), [10, 10, 11])
    try track.copy(from: 2, to: 4, into: other, at: 10.5, makesRoom: true)
    try expectEqual(beats(other), [10, 10, 10.5, 11.5, 13])
    try track.move(from: 1, to: 2, by: 5)
    try expectEqual(beats(track), [2, 3, 6, 6])
    try track.move(from: 6, to: 7, by: -100)
    try expectEqual(beats(track), [0, 0, 2, 3])
    try track.remove(from: 1, to: 3, closesGap: true)
    try expectEqual(beats(track), [0, 0, 1])
    try track.remove(from: 0, to: 1, closesGap: false)
    try expectEqual(beats(track), [1])
    #expect(throws: MusicError.self) { try track.remove(from: 2, to: 1, closesGap: true) }
    #expect(throws: MusicError.self) { try track.add(note(60), at: -1) }
    #expect(throws: MusicError.self) { try track.add(note(60), at: .infinity) }
    #expect(throws: MusicError.self) { try track.add(note(200), at: 0) }
    try sequence.remove(track)
    #expect(throws: MusicError.self) { try track.add(note(60), at: 0) }
    #expect(throws: MusicError.self) { try sequence.remove(sequence.tempoTrack) }
  }

  @Test func reversedEventsEndWhereTheyBegan() throws {
    let sequence = EventSequence()
    let track = sequence.addTrack()
    try track.add(note(60, 1), at: 0)
    try track.add(note(61, 2), at: 2)
    try sequence.tempoTrack.add(.tempo(60), at: 2)
    let before = sequence.tempoMap.seconds(at: 4)
    sequence.reverse()
    try expectEqual(beats(track), [0, 3])
    expectEqual(sequence.tempoMap.seconds(at: 4), before)
    expectEqual(sequence.tempoMap.seconds(at: 1), 1)
  }

  @Test func iteratorsStayOnTheirEvents() throws {
    let track = EventSequence().addTrack()
    for beat in 0..<5 { try track.add(note(UInt8(beat)), at: Double(beat)) }
    let iterator = try EventIterator(track)
    try expectTrue(!iterator.hasPrevious && iterator.hasNext && iterator.hasCurrent)
    #expect(throws: MusicError.self) { try iterator.previous() }
    try iterator.seek(1.5)
    try expectEqual(iterator.event.beat, 2)
    // Other edits move the event, or remove it.
    try track.remove(from: 0, to: 1, closesGap: true)
    try expectEqual(iterator.event.content, note(2))
    try expectEqual(iterator.event.beat, 1)
    try iterator.move(to: 2.5)
    try expectEqual(iterator.event.content, note(2))
    try expectTrue(iterator.hasNext)
    try iterator.replace(.channel(0xB0, 1, 2))
    try expectEqual(iterator.event.content, .channel(0xB0, 1, 2))
    try track.remove(from: 2.5, to: 2.6, closesGap: false)
    try expectEqual(iterator.event.content, note(4))
    try iterator.remove()
    try expectTrue(!iterator.hasCurrent && iterator.hasPrevious)
    #expect(throws: MusicError.self) { try iterator.next() }
    #expect(throws: MusicError.self) { try iterator.event }
    try iterator.previous()
    try expectEqual(iterator.event.content, note(3))
    try iterator.next()
    #expect(throws: MusicError.self) { try iterator.remove() }
  }

  @Test func filesAreReadAsTheyWereWritten() throws {
    let sequence = EventSequence()
    try sequence.tempoTrack.add(.tempo(100), at: 0)
    try sequence.tempoTrack.add(.tempo(90), at: 4)
    try sequence.tempoTrack.add(.meta(0x58, [3, 2, 24, 8]), at: 0)
    try sequence.tempoTrack.add(.meta(0x03, Array("Song".utf8)), at: 0)
    let track = sequence.addTrack()
    try track.add(.meta(0x03, Array("Lead".utf8)), at: 0)
    for i in 0..<64 { try track.add(note(UInt8(40 + i), 0.5), at: Double(i) / 4) }
    try track.add(.channel(0xC3, 5, 0), at: 0)
    try track.add(.channel(0xE0, 1, 64), at: 1.5)
    try track.add(.system([0xF0, 0x7E, 1, 2, 0xF7]), at: 2)
    try track.add(.user([1, 2]), at: 2)
    try track.change { $0.length = 20 }
    let file = sequence.file(resolution: 960)
    let read = try StandardMIDIFile(file.bytes, path: "x.mid")
    expectEqual(read, file)
    let other = EventSequence()
    try other.load(read, isByChannel: false)
    expectEqual(other.resolution, 960)
    expectEqual(other.tempoMap.signatures.map(\.count), [3])
    expectTrue(abs(other.tempoMap.seconds(at: 12) - sequence.tempoMap.seconds(at: 12)) < 1e-5)
    expectEqual(other.info["title"], "Song")
    expectEqual(other.tracks.count, 1)
    try expectEqual(other.tracks[0].length, 20)
    func comparable(_ track: EventTrack) throws -> [String] {
      try track.events.filter {
        if case .user = $0.content { false } else { true }
      }.map { "\($0.beat) \($0.content)" }.sorted()
    }
    try expectEqual(comparable(other.tracks[0]), comparable(track))
    // The flat view of the same file.
    expectEqual(try MIDIFile(file.bytes, path: "x.mid").messages.count, 64 * 2 + 3)
  }

  @Test func tracksAreMadeOfChannels() throws {
    let events = (0..<4).flatMap { channel in
      [
        StandardMIDIFile.Event(tick: 10 * channel, .channel(0x90 | UInt8(channel), 60, 1)),
        StandardMIDIFile.Event(tick: 200, .channel(0x80 | UInt8(channel), 60, 1)),
      ]
    }.sorted { $0.tick < $1.tick }
    let file = StandardMIDIFile(
      format: 0, division: .timeCode(frames: 25, ticks: 40),
      tracks: [StandardMIDIFile.Track(events, end: 2000)])
    let sequence = EventSequence()
    try sequence.load(StandardMIDIFile(file.bytes, path: "x.mid"), isByChannel: true)
    expectEqual(sequence.kind, .seconds)
    expectEqual(sequence.tracks.count, 4)
    // A tick is a millisecond, and a beat a second.
    try expectEqual(sequence.tracks[3].events[0].beat, 0.03)
    expectEqual(sequence.tempoMap.seconds(at: 2), 2)
    let two = StandardMIDIFile(format: 2, division: .quarter(ticks: 96), tracks: file.tracks)
    expectEqual(try StandardMIDIFile(two.bytes, path: "x.mid").format, 2)
    #expect(throws: MusicError.self) { try sequence.load(two, isByChannel: false) }
  }

  /// 2²⁸ ticks and more, which take several pauses.
  @Test func longPausesAreWritten() throws {
    let sequence = EventSequence()
    try sequence.addTrack().add(note(60, 1), at: 1_000_000)
    let file = sequence.file(resolution: 960)
    let read = try StandardMIDIFile(file.bytes, path: "x.mid")
    expectEqual(read.tracks[1].end, 1_000_001 * 960)
    let other = EventSequence()
    try other.load(read, isByChannel: false)
    try expectEqual(other.tracks[0].events.last?.beat, 1_000_000)
  }
}
