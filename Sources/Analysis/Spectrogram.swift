import CFFmpeg
import Codecs
import Glibc
package import Pictures

/// The spectrum of a sound over time, by libavutil's Fourier transform. One thread at a time.
///
/// Each column is the mean power of overlapping windows of 2,048 frames (Hann), over all channels. A sine at
/// full scale is 0 dB.
@safe
package final class Spectrogram {
  /// Frames of a window.
  private static let size = 2048
  /// Rows of the picture.
  package static let rows = 512
  /// Decibels of the lowest color.
  private static let floor = -120.0

  private let channels: Int
  private let frames: Int64
  private let sampleRate: Double
  package let columns: Int
  /// Frames between two windows.
  private let hop: Int64
  private var context: OpaquePointer?
  private var transform: av_tx_fn?
  private let window: [Float]
  /// Samples of the windows to come, one array for each channel, from frame `first` on.
  private var waiting: [[Float]]
  private var first: Int64
  /// The frame in the middle of the next window.
  private var middle: Int64 = 0
  /// Sum of the powers of each row, column by column, and windows of each column.
  private var powers: [Float]
  private var counts: [Int]

  /// Creates a spectrogram of silence; nil if there is no memory.
  ///
  /// - Parameters:
  ///   - frames: Frames of the sound.
  ///   - columns: Most columns; a short sound has one for each frame.
  package init?(frames: Int64, channels: Int, sampleRate: Double, columns: Int = 1000) {
    self.channels = channels
    self.frames = max(1, frames)
    self.sampleRate = sampleRate
    self.columns = Int(max(1, min(Int64(columns), frames)))
    hop = max(1, min(Int64(Self.size / 2), self.frames / Int64(self.columns)))
    window = (0..<Self.size).map {
      0.5 - 0.5 * cos(2 * Float.pi * (Float($0) + 0.5) / Float(Self.size))
    }
    // The first window is half full.
    waiting = Array(
      repeating: Array(repeating: 0, count: Self.size / 2), count: channels)
    first = Int64(-Self.size / 2)
    powers = Array(repeating: 0, count: Self.rows * self.columns)
    counts = Array(repeating: 0, count: self.columns)
    var scale: Float = 1
    let status = unsafe ffmpeg.av_tx_init(
      &context, &transform, AV_TX_FLOAT_RDFT, 0, CInt(Self.size), &scale,
      UInt64(AV_TX_UNALIGNED.rawValue))
    guard status >= 0 else { return nil }
  }

  deinit { unsafe ffmpeg.av_tx_uninit(&context) }

  /// Adds the next frames, interleaved.
  package func add(_ samples: UnsafeBufferPointer<Float>) {
    for channel in 0..<channels {
      for index in stride(from: channel, to: samples.count, by: channels) {
        let sample = unsafe samples[index]
        waiting[channel].append(sample.isFinite ? sample : 0)
      }
    }
    drain()
  }

  /// Completes the last columns. The last frames are followed by silence.
  package func finish() {
    for channel in 0..<channels {
      waiting[channel] += Array(repeating: 0, count: Self.size)
    }
    drain()
  }

  private func drain() {
    while middle < frames {
      let begin = Int(middle - Int64(Self.size / 2) - first)
      guard begin + Self.size <= waiting[0].count else { break }
      let column = Int(middle * Int64(columns) / frames)
      for channel in 0..<channels { measure(channel, from: begin, into: column) }
      counts[column] += 1
      middle += hop
    }
    let unused = min(Int(middle - Int64(Self.size / 2) - first), waiting[0].count)
    if unused > 1 << 14 {
      for channel in 0..<channels { waiting[channel].removeFirst(unused) }
      first += Int64(unused)
    }
  }

  private func measure(_ channel: Int, from begin: Int, into column: Int) {
    var input = [Float](repeating: 0, count: Self.size)
    for index in 0..<Self.size { input[index] = waiting[channel][begin + index] * window[index] }
    var output = [Float](repeating: 0, count: Self.size + 2)
    unsafe transform?(context, &output, &input, MemoryLayout<Float>.stride)
    // A sine of full scale has half of the window's sum in its bin.
    let unit = Float(Self.size) / 4
    let bins = Self.size / 2 + 1
    var row = 0
    var most: Float = 0
    for bin in 0..<bins {
      let next = bin * Self.rows / bins
      if next != row {
        powers[column * Self.rows + row] += most / Float(channels)
        (row, most) = (next, 0)
      }
      let (real, imaginary) = (output[2 * bin] / unit, output[2 * bin + 1] / unit)
      most = max(most, real * real + imaginary * imaginary)
    }
    powers[column * Self.rows + row] += most / Float(channels)
  }

  /// Returns the level of a row at a column in decibels; the lowest row is 0.
  package func level(row: Int, column: Int) -> Double {
    // A sound with fewer windows than columns repeats them.
    var column = column
    while column > 0, counts[column] == 0 { column -= 1 }
    let power = powers[column * Self.rows + row] / Float(max(1, counts[column]))
    return power > 0 ? max(Self.floor, Double(10 * log10(power))) : Self.floor
  }

  // MARK: Drawing

  /// Position of the spectrum in the picture, whose columns are one pixel wide.
  package static let left = 70
  package static let top = 56

  /// The spectrum in colors, with scales of time, frequency and level.
  ///
  /// - Parameter title: Text above.
  package func picture(_ title: String) -> Picture {
    let (left, top, rows) = (Double(Self.left), Double(Self.top), Double(Self.rows))
    var picture = Picture(width: left + Double(columns) + 96, height: top + rows + 24)
    picture.text(title, 12, 20, size: 13, .ink, upTo: picture.width - 24)
    let seconds = Double(frames) / sampleRate
    picture.secondScale(
      x: { left + $0 / seconds * Double(self.columns) }, length: seconds, top: top,
      bottom: top + rows)
    var step = 100.0
    for factor in repeatElement([2, 2.5, 2], count: 5).joined() where sampleRate / 2 / step > 14 {
      step *= factor
    }
    for index in 0...Int(sampleRate / 2 / step) {
      let frequency = Double(index) * step
      let y = top + rows * (1 - frequency / (sampleRate / 2))
      picture.marks.append(
        .line([PicturePoint(left - 5, y), PicturePoint(left, y)], .faint, width: 1))
      // A step is a multiple of 100 Hz.
      let (whole, tenth) = (Int(frequency) / 1000, Int(frequency) / 100 % 10)
      let label =
        frequency < 1000
        ? "\(Int(frequency)) Hz" : tenth == 0 ? "\(whole) kHz" : "\(whole).\(tenth) kHz"
      picture.text(label, 8, y + 4, size: 10, .faint)
    }
    let pixels = (0..<Self.rows).flatMap { row in
      (0..<columns).map { Self.color(level(row: Self.rows - 1 - row, column: $0)) }
    }
    picture.marks.append(
      .image(PictureImage(x: left, y: top, width: columns, pixels: pixels)))
    drawLegend(&picture)
    return picture
  }

  private func drawLegend(_ picture: inout Picture) {
    let x = Double(Self.left + columns + 16)
    let pixels = (0..<Self.rows).flatMap {
      repeatElement(Self.color(Self.floor * Double($0) / Double(Self.rows - 1)), count: 12)
    }
    picture.marks.append(
      .image(PictureImage(x: x, y: Double(Self.top), width: 12, pixels: pixels)))
    for level in stride(from: 0, through: Int(Self.floor), by: -20) {
      let y = Double(Self.top) + Double(Self.rows) * Double(level) / Self.floor
      picture.text("\(level) dB", x + 18, y + 4, size: 10, .faint)
    }
  }

  /// Returns the color of a level: black, blue, violet, orange, yellow, white.
  static func color(_ level: Double) -> UInt32 {
    let position = max(0, min(1, 1 - level / floor)) * Double(stops.count - 1)
    let index = min(stops.count - 2, Int(position))
    let part = position - Double(index)
    return (0..<3).reduce(0) {
      let (low, high) = (stops[index][$1], stops[index + 1][$1])
      return $0 << 8 | UInt32((low + (high - low) * part).rounded())
    }
  }

  private static let stops: [[Double]] = [
    [0, 0, 0], [16, 16, 96], [96, 24, 144], [208, 48, 80], [248, 136, 24], [252, 224, 88],
    [255, 255, 255],
  ]
}
