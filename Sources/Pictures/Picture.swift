import System

/// A picture of lines, areas, texts and pixels, which is written as SVG, PNG or PDF.
package struct Picture: Sendable {
  /// A shape. Later ones cover earlier ones.
  package enum Mark: Sendable {
    case polygon([PicturePoint], fill: PictureColor)
    case line([PicturePoint], PictureColor, width: Double)
    /// A cubic Bézier curve from the first point to the last.
    case curve(PicturePoint, PicturePoint, PicturePoint, PicturePoint, PictureColor, width: Double)
    /// A line of text. `x` is its left end, `y` its baseline, `size` the height of the font. A text
    /// that is wider than `width` is cut off.
    case text(String, x: Double, y: Double, size: Double, PictureColor, upTo: Double)
    case image(PictureImage)
    /// The marks of another picture, so many pixels further down.
    indirect case moved([Mark], down: Double)
  }

  package var width, height: Double
  package var marks: [Mark] = []

  package init(width: Double, height: Double) {
    self.width = width
    self.height = height
  }

  package mutating func rectangle(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, fill: PictureColor,
    border: PictureColor? = nil
  ) {
    let corners = [
      PicturePoint(x, y), PicturePoint(x + width, y), PicturePoint(x + width, y + height),
      PicturePoint(x, y + height),
    ]
    marks.append(.polygon(corners, fill: fill))
    if let border { marks.append(.line(corners + [corners[0]], border, width: 1)) }
  }

  package mutating func text(
    _ text: String, _ x: Double, _ y: Double, size: Double, _ color: PictureColor,
    upTo width: Double = .infinity
  ) {
    if !text.isEmpty { marks.append(.text(text, x: x, y: y, size: size, color, upTo: width)) }
  }

  /// Adds the shape between the least and the greatest samples of a sound. Silence is a thin line.
  ///
  /// - Parameters:
  ///   - left, right: Where the sound begins and ends.
  ///   - middle: Where 0 is; full scale is `reach` away from it.
  ///   - columns: Number of stretches of the shape.
  ///   - peaks: Returns the least and the greatest sample at a column, from 0 to `columns`.
  package mutating func waveform(
    from left: Double, to right: Double, middle: Double, reach: Double, columns: Int,
    fill: PictureColor, peaks: (Int) -> ClosedRange<Float>
  ) {
    var upper: [PicturePoint] = []
    var lower: [PicturePoint] = []
    for column in 0...columns {
      let range = peaks(column)
      let x = left + (right - left) * Double(column) / Double(columns)
      let (low, high) = (max(-1, range.lowerBound), min(1, range.upperBound))
      upper.append(PicturePoint(x, middle - max(0.4, Double(high) * reach)))
      lower.append(PicturePoint(x, middle - min(-0.4, Double(low) * reach)))
    }
    marks.append(.polygon(upper + lower.reversed(), fill: fill))
  }

  /// Adds lines at round times, with their seconds above them, at most sixteen.
  ///
  /// - Parameters:
  ///   - x: Returns where a time is.
  ///   - length: Seconds of the scale.
  package mutating func secondScale(
    x: (Double) -> Double, length: Double, top: Double, bottom: Double
  ) {
    var step = 0.001
    // Steps of 1, 2 or 5 times a power of ten.
    for factor in repeatElement([2, 2.5, 2], count: 30).joined() where length / step > 16 {
      step *= factor
    }
    for index in 0...Int(length / step) {
      let time = Double(index) * step
      marks.append(
        .line([PicturePoint(x(time), top - 6), PicturePoint(x(time), bottom)], .rule, width: 1))
      // Without rounding errors.
      let label = plain((time * 1000).rounded() / 1000)
      text("\(label) s", x(time) + 3, top - 8, size: 10, .faint)
    }
  }

  /// Returns this picture with another one below it.
  package func above(_ other: Picture) -> Picture {
    var both = Picture(width: max(width, other.width), height: height + other.height)
    both.marks = marks + [.moved(other.marks, down: height)]
    return both
  }
}
