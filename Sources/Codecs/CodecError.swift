/// A codec could not do what was asked for.
package struct CodecError: Error, Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// libavcodec was built without what this needs.
    case noEncoder(Codec)
    case noDecoder(Codec)
    /// The codec does not take such a format; why.
    case badFormat(String)
    /// The cookie is missing or damaged; what is wrong.
    case badCookie(String)
    /// What went in is not a packet of this codec; what is wrong. The decoder goes on with the next.
    case badPacket(String)
    /// The encoder, or the machine, gave up; what libavcodec says.
    case failed(String)
  }

  package let kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  /// What went wrong, in words.
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
