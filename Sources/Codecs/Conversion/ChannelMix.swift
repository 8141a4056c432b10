/// How the channels of one stream are mapped or mixed to those of another.
package enum ChannelMix: Hashable, Sendable {
  /// For each output channel the index of its input channel, or nil for silence.
  case map([Int?])
  /// For each input channel its gain in each output channel.
  case mix([[Float]])

  /// Returns a map of the first channels in order. Surplus input channels are dropped, surplus
  /// outputs silent.
  package static func first(of input: Int, to output: Int) -> ChannelMix {
    .map((0..<output).map { $0 < input ? $0 : nil })
  }

  /// Returns true if the mix fits streams with these numbers of channels.
  package func fits(input: Int, output: Int) -> Bool {
    switch self {
    case .map(let map):
      map.count == output && map.allSatisfy { ($0 ?? 0) < input && ($0 ?? 0) >= 0 }
    case .mix(let rows): rows.count == input && rows.allSatisfy { $0.count == output }
    }
  }
}
