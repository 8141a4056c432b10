import RealTime

/// The samples of a buffer, as floats for each channel.
struct ChannelSamples {
  private var planes: [[Float]]

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

  /// Returns the first frame from `start` on with a sample above a level; nil if there is none. 1 is full scale.
  func firstFrame(above level: Float, from start: Int = 0) -> Int? {
    planes.compactMap { plane in plane[start...].firstIndex { abs($0) > level } }.min()
  }

  /// Returns the frame before which `frames` frames have passed without a sample above a level; nil if there is none.
  ///
  /// - Parameters:
  ///   - soundEnd: The frame after the last sample above the level, before the frames that are looked at and after
  ///     them. It may lie before the first frame.
  ///   - start: The first frame to look at.
  func silenceEnd(after soundEnd: inout Int, level: Float, frames: Int, from start: Int) -> Int? {
    for frame in start..<max(start, planes.first?.count ?? 0) {
      if planes.contains(where: { abs($0[frame]) > level }) { soundEnd = frame + 1 }
      if frame + 1 - soundEnd >= frames { return frame + 1 }
    }
    return nil
  }

  /// Multiplies the samples by a gain that moves evenly from `first` to `last`, and writes them back.
  mutating func amplify(
    from first: Float, to last: Float, _ memory: UnsafeMutableRawBufferPointer, _ format: PCMFormat
  ) {
    guard let layout = format.layout, let target = memory.baseAddress,
      let frames = planes.first?.count, frames > 0
    else { return }
    for channel in planes.indices {
      for frame in 0..<frames {
        planes[channel][frame] *= first + (last - first) * Float(frame + 1) / Float(frames)
      }
    }
    var samples = planes.flatMap { $0 }
    unsafe samples.withUnsafeMutableBufferPointer { samples in
      guard let start = samples.baseAddress else { return }
      var pointers = unsafe planes.indices.map { unsafe start + $0 * frames }
      unsafe pointers.withUnsafeMutableBufferPointer { pointers in
        guard let pointers = pointers.baseAddress else { return }
        unsafe layout.store(from: pointers, at: 0, frames: frames, to: target, planeFrames: 0)
      }
    }
  }

  /// For each channel, the frame after the last sample other than zero; 0 if all are zero.
  var soundEnds: [Int] { planes.map { plane in (plane.lastIndex { $0 != 0 } ?? -1) + 1 } }
}
