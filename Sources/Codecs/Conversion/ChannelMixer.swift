/// A mixer that applies a channel mix to planes of floats. One thread at a time.
@safe
final class ChannelMixer {
  private let mix: ChannelMix
  private let outputs: Int
  /// Planes of the mix; for a map, one plane of silence.
  private let planes: Planes
  private let channelPointers: Planes.Pointers

  /// - Parameter most: Maximum frames per call.
  init(_ mix: ChannelMix, outputs: Int, most: Int) {
    self.mix = mix
    self.outputs = outputs
    let isMap = if case .map = mix { true } else { false }
    planes = Planes(channels: isMap ? 1 : outputs, capacity: most)
    unsafe channelPointers = .allocate(capacity: outputs)
    unsafe channelPointers.initialize(repeating: planes.pointers()[0], count: outputs)
  }

  deinit { unsafe channelPointers.deallocate() }

  /// Returns the output channels for frames of the input. They are valid until the next call, and
  /// as long as the input is.
  func apply(_ input: Planes.Pointers, frames: Int) -> Planes.Pointers {
    switch mix {
    case .map(let map):
      let silence = unsafe planes.pointers()[0]
      for (output, source) in map.enumerated() {
        unsafe channelPointers[output] = source.map { unsafe input[$0] } ?? silence
      }
    case .mix(let rows):
      planes.silence(from: 0, to: frames)
      for output in 0..<outputs {
        let out = unsafe planes.pointers()[output]
        unsafe channelPointers[output] = out
        for (channel, row) in rows.enumerated() where row[output] != 0 {
          let plane = unsafe input[channel]
          let factor = row[output]
          for i in 0..<frames { unsafe out[i] += plane[i] * factor }
        }
      }
    }
    return unsafe channelPointers
  }
}
