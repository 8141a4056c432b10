import Synchronization

/// A place among the events of a track, which stays while the track changes. Any thread that is not real time.
package final class EventIterator: Sendable {
  package let track: EventTrack
  private enum Place: Sendable {
    /// An event by its number, with its beat, and its index when it was last looked for.
    case event(id: UInt64, beat: Double, index: Int)
    case end
  }
  private let place = Mutex(Place.end)

  /// Creates an iterator at the first event.
  ///
  /// - Throws: `MusicError.trackNotFound`.
  package init(_ track: EventTrack) throws(MusicError) {
    self.track = track
    try seek(0)
  }

  private func set(_ index: Int, in track: EventSequence.Track) {
    let place: Place =
      if track.events.indices.contains(index) {
        .event(id: track.events[index].id, beat: track.events[index].beat, index: index)
      } else { .end }
    self.place.withLock { $0 = place }
  }

  /// Returns the index of the event; of the one that followed, if it was removed; the number of events at the end.
  private func index(in track: borrowing EventSequence.Track) -> Int {
    guard case .event(let id, let beat, let index) = place.withLock({ $0 }) else {
      return track.events.count
    }
    if index < track.events.count, track.events[index].id == id { return index }
    return track.events.firstIndex { $0.id == id } ?? track.index(from: beat)
  }

  private func with<Result: Sendable>(
    _ body: (EventSequence.Track, Int) throws(MusicError) -> Result
  ) throws(MusicError) -> Result {
    let track = try track.sequence.read { state throws(MusicError) in try state.track(self.track.id)
    }
    return try body(track, index(in: track))
  }

  /// Goes to the first event that is not before a beat.
  package func seek(_ beat: Double) throws(MusicError) {
    try with { track, _ in set(track.index(from: beat), in: track) }
  }

  /// Goes to the next event, or behind the last one.
  package func next() throws(MusicError) {
    try with { track, index throws(MusicError) in
      guard index < track.events.count else { throw .endOfTrack }
      set(index + 1, in: track)
    }
  }

  /// Goes to the event before.
  package func previous() throws(MusicError) {
    try with { track, index throws(MusicError) in
      guard index > 0 else { throw .startOfTrack }
      set(index - 1, in: track)
    }
  }

  package var hasPrevious: Bool { get throws(MusicError) { try with { _, index in index > 0 } } }
  package var hasNext: Bool {
    get throws(MusicError) { try with { track, index in index + 1 < track.events.count } }
  }
  package var hasCurrent: Bool {
    get throws(MusicError) { try with { track, index in index < track.events.count } }
  }

  /// The event; throws `MusicError.endOfTrack` behind the last one.
  package var event: TrackEvent {
    get throws(MusicError) {
      try with { track, index throws(MusicError) in
        guard index < track.events.count else { throw .endOfTrack }
        set(index, in: track)
        return track.events[index]
      }
    }
  }

  private func edit(
    _ body: (inout EventSequence.Track, Int) throws(MusicError) -> Void
  ) throws(MusicError) {
    try track.edit { track, _ throws(MusicError) in
      let index = index(in: track)
      guard index < track.events.count else { throw .endOfTrack }
      try body(&track, index)
    }
  }

  /// Moves the event to another beat; the iterator stays on it.
  package func move(to beat: Double) throws(MusicError) {
    try track.check(beat)
    try edit { track, index in
      var event = track.events.remove(at: index)
      event.beat = beat
      track.insert(event)
      place.withLock { $0 = .event(id: event.id, beat: beat, index: index) }
    }
  }

  /// Replaces the event's content.
  package func replace(_ content: EventContent) throws(MusicError) {
    let content = try track.checked(content)
    try edit { track, index in track.events[index].content = content }
  }

  /// Removes the event. The iterator is on the next one then.
  package func remove() throws(MusicError) {
    try edit { track, index in
      track.events.remove(at: index)
      set(index, in: track)
    }
  }
}
