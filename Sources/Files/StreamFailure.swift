/// Why a stream of bytes gives no sound.
package enum StreamFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// No kind that can be read piece by piece.
  case unsupportedContainer
  /// The sound is coded in a way that is not read; the text is its name.
  case unsupportedEncoding(String)
  /// The tables that tell of the packets come after them, or not at all.
  case notOptimized
  /// The text says where.
  case damaged(String)
  /// After the gap nothing tells where packets begin.
  case lostPlace
  /// A call came from within another one.
  case busy

  /// The reason, to follow "the stream cannot be read:".
  package var description: String {
    switch self {
    case .unsupportedContainer: "it is of no kind that can be read piece by piece"
    case .unsupportedEncoding(let name): "sound coded as \(name) cannot be read"
    case .notOptimized: "the tables that tell of the packets do not come before them"
    case .damaged(let detail): "it is damaged: \(detail)"
    case .lostPlace: "after a gap nothing tells where packets begin"
    case .busy: "it is being read already"
    }
  }
}
