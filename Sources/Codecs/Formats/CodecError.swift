/// The reason why a codec operation failed.
package struct CodecError: Error, Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// libavcodec was built without this encoder.
    case noEncoder(Codec)
    case noDecoder(Codec)
    /// The codec does not support the format; the text says why.
    case badFormat(String)
    /// The cookie is missing or damaged; the text says how.
    case badCookie(String)
    /// The data is not a packet of this codec; the text says why. The decoder continues with the
    /// next one.
    case badPacket(String)
    /// The encoder or the system failed; the text is libavcodec's.
    case failed(String)
  }

  package let kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  /// Description of the error.
  package var reason: String {
    switch kind {
    case .noEncoder(let codec): "libavcodec has no encoder of \(codec.name) here"
    case .noDecoder(let codec): "libavcodec has no decoder of \(codec.name) here"
    case .badFormat(let reason): reason
    case .badCookie(let reason): "the magic cookie is unusable: \(reason)"
    case .badPacket(let reason): "a packet is unusable: \(reason)"
    case .failed(let reason): reason
    }
  }
}
