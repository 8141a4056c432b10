import FileSupport
import Foundation
import Pictures
import Testing

@testable import Analysis

/// Waveforms and spectra: their pixels against the samples that they show.
@Suite struct PictureTests {
  /// Adds a sound in pieces of changing size.
  private func addPieces(
    _ samples: [Float], channels: Int, _ add: (UnsafeBufferPointer<Float>) -> Void
  ) {
    samples.withUnsafeBufferPointer { samples in
      var (at, size) = (0, 1)
      while at < samples.count {
        let end = min(samples.count, at + size * channels)
        add(UnsafeBufferPointer(rebasing: samples[at..<end]))
        (at, size) = (end, size % 900 + 37)
      }
    }
  }

  @Test(arguments: [1, 7, 1000, 1001, 12345], [1, 2]) func peaksAreThoseOfEachPart(
    frames: Int, channels: Int
  ) {
    let samples = (0..<frames * channels).map { Float(($0 * 7919) % 641 - 320) / 400 }
    for isMerged in [false, true] {
      var table = PeakTable(
        frames: Int64(frames), parts: 100, channels: channels, isMerged: isMerged)
      addPieces(samples, channels: channels) { table.add($0) }
      let parts = min(100, frames)
      expectEqual(table.lanes.count, (isMerged ? 1 : channels))
      for (lane, peaks) in table.lanes.enumerated() {
        for part in 0..<parts {
          var own: [Float] = []
          for frame in 0..<frames where frame * parts / frames == part {
            for channel in 0..<channels where isMerged || channel == lane {
              own.append(samples[frame * channels + channel])
            }
          }
          expectEqual(peaks[part], own.min()!...own.max()!, "\(part)")
        }
      }
    }
  }

  /// A square wave from a quarter to five eighths of the time, in the first of two channels.
  @Test func theWaveformHasItsEdgesAndHeights() throws {
    let frames = 32_000
    let samples = (0..<frames).flatMap { frame -> [Float] in
      let isOn = (8000..<20_000).contains(frame)
      return [isOn ? (frame / 4 % 2 == 0 ? 0.5 : -0.25) : 0, frame < 16_000 ? 1 : 0]
    }
    var table = PeakTable(frames: Int64(frames), parts: 1000, channels: 2)
    addPieces(samples, channels: 2) { table.add($0) }
    let picture = table.picture("edges", seconds: 4, names: ["left", "right"])
    let pixels = try PicturePixels(picture.file(.png))
    let (left, first, height) = (70, 56, 120)
    let middle = first + height / 2
    let wave: UInt32 = 0x3F78B0
    func columns(_ y: Int) -> [Int] { (left..<left + 1000).filter { pixels.color($0, y) == wave } }
    let high = columns(middle - 20)
    // Half a column is of another color.
    expectTrue(abs(high.first! - left - 250) <= 2 && abs(high.last! - left - 625) <= 2)
    expectEqual(high.count, high.last! - high.first! + 1)
    func rows(_ x: Int, from y: Int) -> ClosedRange<Int> {
      let rows = (y..<y + height).filter { pixels.color(x, $0) == wave }
      return rows.first!...rows.last!
    }
    // Half and a quarter of the reach of 58 pixels, and silence as a line.
    let on = rows(left + 400, from: first)
    expectTrue(abs(on.lowerBound - (middle - 29)) <= 1 && abs(on.upperBound - (middle + 14)) <= 1)
    // The second lane goes up only, to full scale.
    let second = first + height + 8
    let full = rows(left + 200, from: second)
    expectTrue(abs(full.lowerBound - (second + 2)) <= 1 && full.upperBound <= second + 62)
    // The SVG file shows the same.
    let drawn = try PicturePixels(picture.file(.svg), "svg")
    expectTrue(drawn.width == pixels.width && drawn.height == pixels.height)
    for x in stride(from: left + 2, to: left + 998, by: 7) where x % 250 > 72 || x % 250 < 68 {
      expectEqual(drawn.color(x, middle - 20), pixels.color(x, middle - 20), "\(x)")
    }
  }

  /// Two sines, one after the other, each exactly on a bin of the transform.
  @Test func theSpectrumHasEachSineInItsRow() throws {
    let (frames, rate) = (32_000, 16_000.0)
    func sine(_ frame: Int, _ frequency: Double, _ amplitude: Double) -> Float {
      Float(amplitude * sin(2 * .pi * frequency * Double(frame) / rate))
    }
    let samples = (0..<frames).map { $0 < frames / 2 ? sine($0, 3000, 0.5) : sine($0, 6000, 0.1) }
    let spectrum = try require(
      Spectrogram(frames: Int64(frames), channels: 1, sampleRate: rate))
    addPieces(samples, channels: 1) { spectrum.add($0) }
    spectrum.finish()
    let pixels = try PicturePixels(spectrum.picture("sines").file(.png))
    func brightest(_ column: Int) -> (row: Int, level: Double) {
      let row = (0..<Spectrogram.rows).max {
        spectrum.level(row: $0, column: column) < spectrum.level(row: $1, column: column)
      }!
      return (row, spectrum.level(row: row, column: column))
    }
    for (column, frequency, level) in [(200, 3000.0, -6.02), (800, 6000.0, -20.0)] {
      let found = brightest(column)
      expectTrue(abs(found.row - Int(frequency / 8000 * 512)) <= 1, "\(found)")
      expectTrue(abs(found.level - level) < 0.1, "\(found)")
      // The picture has that row's color, and nothing else as bright.
      let x = Spectrogram.left + column
      func color(_ row: Int) -> UInt32 {
        pixels.color(x, Spectrogram.top + Spectrogram.rows - 1 - row)
      }
      let bright = Spectrogram.color(found.level)
      expectEqual(color(found.row), bright)
      let near = (0..<Spectrogram.rows).filter { color($0) == bright }
      expectTrue(near.allSatisfy { abs($0 - found.row) <= 1 })
      // Half of all rows are dark.
      expectTrue(spectrum.level(row: 64, column: column) < -90)
    }
    // The edge is in the middle, within the half of a window.
    let edge = Int(2048 / 2.0 / 32)
    expectTrue(brightest(500 - edge - 1).row < 200 && brightest(500 + edge + 1).row > 380)
  }

  @Test(arguments: [0, 1, 3, 999]) func shortSoundsAreDrawn(frames: Int) throws {
    let samples = [Float](repeating: 0.5, count: frames)
    var table = PeakTable(frames: Int64(frames), parts: 1000, channels: 1)
    let spectrum = try require(
      Spectrogram(frames: Int64(frames), channels: 1, sampleRate: 8000))
    samples.withUnsafeBufferPointer {
      table.add($0)
      spectrum.add($0)
    }
    spectrum.finish()
    let columns = max(1, frames)
    expectTrue(table.lanes[0].count == columns && spectrum.columns == columns)
    expectTrue(!table.picture("", seconds: Double(frames) / 8000, names: []).marks.isEmpty)
    let images = spectrum.picture("").marks.compactMap { mark -> PictureImage? in
      if case .image(let image) = mark { return image }
      return nil
    }
    expectTrue(images[0].width == columns && images[0].height == Spectrogram.rows)
  }

  @Test func aPictureInAPictureIsCutOff() throws {
    var picture = Picture(width: 4, height: 4)
    let red = [UInt32](repeating: 0xFF0000, count: 9)
    picture.marks = [(-2, -2), (3, 3), (9, 0)].map {
      .image(PictureImage(x: $0.0, y: $0.1, width: 3, pixels: red))
    }
    let pixels = try PicturePixels(picture.file(.png))
    let found = (0..<16).filter { pixels.color($0 % 4, $0 / 4) == 0xFF0000 }
    expectEqual(found, [0, 15])
  }
}
