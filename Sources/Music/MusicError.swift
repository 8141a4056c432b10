/// Reason why a sequence or its player refuses something.
package enum MusicError: Error, Sendable {
  case badArgument(String)
  case trackNotFound
  case trackIndex(Int)
  case endOfTrack
  case startOfTrack
  case illegalDestination(String)
  case noSequence
  case invalidEvent(String)
  case invalidType(String)
  case invalidState(String)
  case noDestination(String)
  /// The device or the graph cannot be started, with the code of the C API if there is one.
  case cannotStart(String, code: Int32?)

  package var reason: String {
    switch self {
    case .badArgument(let reason), .illegalDestination(let reason), .invalidEvent(let reason),
      .invalidType(let reason), .invalidState(let reason), .noDestination(let reason),
      .cannotStart(let reason, _):
      reason
    case .trackNotFound: "there is no such track"
    case .trackIndex(let index): "there is no track \(index)"
    case .endOfTrack: "there are no more events"
    case .startOfTrack: "there are no events before"
    case .noSequence: "the player has no sequence"
    }
  }
}
