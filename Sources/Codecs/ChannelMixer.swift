/// How the channels of a stream become those of another.
package enum ChannelMix: Hashable, Sendable {
  /// For each channel of the output the channel of the input that it takes, or nil for silence.
  case map([Int?])
  /// For each channel of the input how much of it each channel of the output takes.
  case mix([[Float]])

  /// The first channels to the first ones: what remains is dropped, or silent.
  package static func first(of input: Int, to output: Int) -> ChannelMix {
    .map((0..<output).map { $0 < input ? $0 : nil })
  }

  /// True if it can be applied to streams of so many channels.
  package func fits(input: Int, output: Int) -> Bool {
    switch self {
    case .map(let map):
      map.count == output && map.allSatisfy { ($0 ?? 0) < input && ($0 ?? 0) >= 0 }
    case .mix(let rows): rows.count == input && rows.allSatisfy { $0.count == output }
    }
  }
}

/// Applies a mix to planes of floats. One thread at a time.
@safe
final class ChannelMixer {
  private let mix: ChannelMix
  private let outputs: Int
  /// What is mixed; silence for a map.
  private let planes: Planes
  private let places: Planes.Pointers

  /// - Parameter most: The most frames at a time.
  init(_ mix: ChannelMix, outputs: Int, most: Int) {
    self.mix = mix
    self.outputs = outputs
    let isMap = if case .map = mix { true } else { false }
    planes = Planes(channels: isMap ? 1 : outputs, capacity: most)
    unsafe places = .allocate(capacity: outputs)
    unsafe places.initialize(repeating: planes.pointers()[0], count: outputs)
  }

  deinit { unsafe places.deallocate() }

  /// The channels of the output for frames of the input: good until the next call, and as long as
  /// the input is.
  func apply(_ input: Planes.Pointers, frames: Int) -> Planes.Pointers {
    switch mix {
    case .map(let map):
      let silence = unsafe planes.pointers()[0]
      for (output, source) in map.enumerated() {
        unsafe places[output] = source.map { unsafe input[$0] } ?? silence
      }
    case .mix(let rows):
      planes.silence(from: 0, to: frames)
      for output in 0..<outputs {
        let out = unsafe planes.pointers()[output]
        unsafe places[output] = out
        for (channel, row) in rows.enumerated() where row[output] != 0 {
          let plane = unsafe input[channel]
          let factor = row[output]
          for i in 0..<frames { unsafe out[i] += plane[i] * factor }
        }
      }
    }
    return unsafe places
  }
}
