import CAudioToolbox
import Music

/// A track as C programs hold it.
struct TrackHandle: Sendable {
  let track: EventTrack
  let owner: SequenceHandle

  static func find(_ reference: MusicTrack?) throws(MusicFailure) -> TrackHandle {
    guard let found = SequenceHandle.tracks.object(UInt(bitPattern: reference)) else {
      throw .music(.trackNotFound)
    }
    return found
  }
}
