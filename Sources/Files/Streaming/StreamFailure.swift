/// The reason why a byte stream cannot be parsed.
package enum StreamFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The container cannot be read as a stream.
  case unsupportedContainer
  /// The codec cannot be read; the text is its name.
  case unsupportedEncoding(String)
  /// The packet tables come after the packets, or are missing.
  case notOptimized
  /// The stream is damaged; the text says where.
  case damaged(String)
  /// After a gap, nothing marks the start of packets.
  case lostSync
  /// A call was made from within another one.
  case busy

  /// The reason, to follow "the stream cannot be read:".
  package var description: String {
    switch self {
    case .unsupportedContainer: "it is of no kind that can be read piece by piece"
    case .unsupportedEncoding(let name): "sound coded as \(name) cannot be read"
    case .notOptimized: "the tables that tell of the packets do not come before them"
    case .damaged(let detail): "it is damaged: \(detail)"
    case .lostSync: "after a gap nothing tells where packets begin"
    case .busy: "it is being read already"
    }
  }
}
