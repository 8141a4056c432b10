package import Pictures

/// The least and the greatest sample of each of many equal parts of a sound.
package struct PeakTable: Sendable {
  /// The parts of each channel, or of all channels together.
  package private(set) var lanes: [[ClosedRange<Float>]]
  private let frames: Int64
  private let parts: Int
  private let channels: Int
  private var frame: Int64 = 0

  /// Creates a table of silence.
  ///
  /// - Parameters:
  ///   - frames: Frames of the sound.
  ///   - parts: Most parts; a short sound has one for each frame.
  ///   - isMerged: True for one lane of all channels.
  package init(frames: Int64, parts: Int, channels: Int, isMerged: Bool = false) {
    self.frames = max(1, frames)
    self.parts = Int(max(1, min(Int64(parts), frames)))
    self.channels = channels
    lanes = Array(
      repeating: Array(repeating: 0...0, count: self.parts), count: isMerged ? 1 : channels)
  }

  /// Adds the next frames, interleaved.
  package mutating func add(_ samples: UnsafeBufferPointer<Float>) {
    let count = samples.count / channels
    let isMerged = lanes.count == 1
    var isFirst = frame == 0
    var done = 0
    while done < count {
      let part = Int(frame * Int64(parts) / frames)
      guard part < parts else { return }
      // The first frame of the next part.
      let end = (Int64(part + 1) * frames + Int64(parts) - 1) / Int64(parts)
      let size = min(count - done, Int(end - frame))
      for channel in 0..<channels {
        let lane = isMerged ? 0 : channel
        let begins = isFirst || frame * Int64(parts) / frames != (frame - 1) * Int64(parts) / frames
        var (low, high) = (lanes[lane][part].lowerBound, lanes[lane][part].upperBound)
        var isEmpty = begins && (!isMerged || channel == 0)
        for index in done..<done + size {
          let sample = unsafe samples[index * channels + channel]
          guard sample.isFinite else { continue }
          if isEmpty { (low, high, isEmpty) = (sample, sample, false) }
          low = min(low, sample)
          high = max(high, sample)
        }
        lanes[lane][part] = low...high
      }
      isFirst = false
      done += size
      frame += Int64(size)
    }
  }

  /// The waveform of each channel below the other, with a scale in seconds.
  ///
  /// - Parameters:
  ///   - title: Text above.
  ///   - seconds: Length of the sound.
  ///   - names: Names of the lanes.
  package func picture(_ title: String, seconds: Double, names: [String]) -> Picture {
    let (left, width, height, top, gap) = (70.0, 1000.0, 120.0, 56.0, 8.0)
    var picture = Picture(
      width: left + width + 24, height: top + Double(lanes.count) * (height + gap) + 16)
    picture.text(title, 12, 20, size: 13, .ink, upTo: picture.width - 24)
    let length = seconds > 0 ? seconds : 1
    picture.secondScale(
      x: { left + $0 / length * width }, length: length, top: top, bottom: picture.height - 16)
    for (index, lane) in lanes.enumerated() {
      let y = top + Double(index) * (height + gap)
      picture.rectangle(
        left, y, width, height, fill: PictureColor(0xE3EEF9), border: PictureColor(0x8FB0D0))
      if names.indices.contains(index) {
        picture.text(names[index], 12, y + height / 2 + 4, size: 10.5, .faint, upTo: left - 18)
      }
      let columns = Int(width)
      picture.waveform(
        from: left, to: left + width, middle: y + height / 2, reach: height / 2 - 2,
        columns: columns, fill: PictureColor(0x3F78B0)
      ) { lane[min(lane.count - 1, $0 * lane.count / columns)] }
    }
    return picture
  }
}
