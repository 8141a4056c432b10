import RealTime

/// The samples of a buffer, as floats for each channel.
struct ChannelSamples {
  private let planes: [[Float]]

  /// Converts a buffer's frames; nil if the format cannot be read.
  init?(_ bytes: UnsafeRawBufferPointer, _ format: PCMFormat) {
    guard let layout = format.layout, let source = bytes.baseAddress else { return nil }
    let frames = bytes.count / format.bytesPerFrame
    let samples = unsafe [Float](
      unsafeUninitializedCapacity: frames * format.channels
    ) { memory, count in
      guard let first = memory.baseAddress else { return }
      unsafe withUnsafeTemporaryAllocation(
        of: UnsafeMutablePointer<Float>.self, capacity: format.channels
      ) { planes in
        for channel in 0..<format.channels {
          unsafe planes.initializeElement(at: channel, to: first + channel * frames)
        }
        guard let planes = planes.baseAddress else { return }
        unsafe layout.copy(
          source, planeFrames: 0, frames: frames, gain: ChannelGain(1), to: planes, at: 0)
      }
      count = frames * format.channels
    }
    planes = (0..<format.channels).map { Array(samples[($0 * frames)..<(($0 + 1) * frames)]) }
  }

  /// The first frame with a sample above a level; nil if there is none. 1 is full scale.
  func firstFrame(above level: Float) -> Int? {
    planes.compactMap { plane in plane.firstIndex { abs($0) > level } }.min()
  }

  /// For each channel, the frame after the last sample other than zero; 0 if all are zero.
  var soundEnds: [Int] { planes.map { plane in (plane.lastIndex { $0 != 0 } ?? -1) + 1 } }
}
