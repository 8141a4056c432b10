/// A color with 8 bits each of red, green and blue.
package struct PictureColor: Sendable, Hashable {
  package let red, green, blue: UInt8

  /// Creates a color from its hexadecimal digits, such as 0xFF8000.
  package init(_ digits: UInt32) {
    red = UInt8(truncatingIfNeeded: digits >> 16)
    green = UInt8(truncatingIfNeeded: digits >> 8)
    blue = UInt8(truncatingIfNeeded: digits)
  }

  /// The color in CSS.
  package var css: String {
    "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  package static let paper = PictureColor(0xFFFFFF)
  package static let ink = PictureColor(0x1F2933)
  package static let faint = PictureColor(0x7B8794)
  package static let rule = PictureColor(0xD9DEE3)
}

/// A point of a picture, in pixels from the top left corner.
package struct PicturePoint: Sendable, Hashable {
  package var x, y: Double
  package init(_ x: Double, _ y: Double) {
    self.x = x
    self.y = y
  }
}

/// Pixels in a picture, from the top left one, row by row.
package struct PictureImage: Sendable {
  /// Position of the top left pixel.
  package let x, y: Int
  package let width, height: Int
  /// Three bytes for each pixel: red, green and blue.
  package let bytes: [UInt8]

  package init(x: Int, y: Int, width: Int, height: Int, bytes: [UInt8]) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
    self.bytes = bytes
  }
}

/// A picture of lines, areas and texts, which is written as SVG or PNG.
package struct Picture: Sendable {
  /// A shape. Later ones cover earlier ones.
  package enum Mark: Sendable {
    case polygon([PicturePoint], fill: PictureColor)
    case line([PicturePoint], PictureColor, width: Double)
    /// A cubic Bézier curve from the first point to the last.
    case curve(PicturePoint, PicturePoint, PicturePoint, PicturePoint, PictureColor, width: Double)
    /// A line of text. `x` is its left end, `y` its baseline, `size` the height of the font.
    case text(String, x: Double, y: Double, size: Double, PictureColor)
  }

  package var width, height: Double
  package var marks: [Mark] = []
  /// Pixels that cover all shapes. A picture in SVG leaves them out.
  package var images: [PictureImage] = []

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
    let text = StrokeFont.fitted(text, size: size, width: width)
    if !text.isEmpty { marks.append(.text(text, x: x, y: y, size: size, color)) }
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
      let label = (time * 1000).rounded() / 1000
      text("\(Self.number(label, decimals: 3)) s", x(time) + 3, top - 8, size: 10, .faint)
    }
  }

  /// Returns this picture with another one below it.
  package func above(_ other: Picture) -> Picture {
    var both = Picture(width: max(width, other.width), height: height + other.height)
    both.marks = marks
    func moved(_ point: PicturePoint) -> PicturePoint { PicturePoint(point.x, point.y + height) }
    for mark in other.marks {
      switch mark {
      case .polygon(let points, let fill):
        both.marks.append(.polygon(points.map(moved), fill: fill))
      case .line(let points, let color, let width):
        both.marks.append(.line(points.map(moved), color, width: width))
      case .curve(let a, let b, let c, let d, let color, let width):
        both.marks.append(.curve(moved(a), moved(b), moved(c), moved(d), color, width: width))
      case .text(let text, let x, let y, let size, let color):
        both.marks.append(.text(text, x: x, y: y + height, size: size, color))
      }
    }
    both.images =
      images
      + other.images.map {
        PictureImage(
          x: $0.x, y: $0.y + Int(height.rounded()), width: $0.width, height: $0.height,
          bytes: $0.bytes)
      }
    return both
  }

  // MARK: SVG

  /// The picture as an SVG file.
  package var svg: String {
    let size = "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) viewBox=\"0 0 \(Self.number(width)) \(Self.number(height))\" font-family=\"sans-serif\">",
      "<rect \(size) fill=\"\(PictureColor.paper.css)\"/>",
    ]
    for mark in marks {
      switch mark {
      case .polygon(let points, let fill):
        lines.append("<polygon points=\"\(Self.list(points))\" fill=\"\(fill.css)\"/>")
      case .line(let points, let color, let width):
        lines.append(
          "<polyline points=\"\(Self.list(points))\" fill=\"none\" \(Self.stroke(color, width))/>")
      case .curve(let a, let b, let c, let d, let color, let width):
        lines.append(
          "<path d=\"M\(Self.list([a])) C\(Self.list([b, c, d]))\" fill=\"none\" \(Self.stroke(color, width))/>"
        )
      case .text(let text, let x, let y, let size, let color):
        lines.append(
          "<text x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" font-size=\"\(Self.number(size))\" fill=\"\(color.css)\">\(Self.escaped(text))</text>"
        )
      }
    }
    return lines.joined(separator: "\n") + "\n</svg>\n"
  }

  private static func stroke(_ color: PictureColor, _ width: Double) -> String {
    "stroke=\"\(color.css)\" stroke-width=\"\(number(width))\""
  }

  private static func list(_ points: [PicturePoint]) -> String {
    points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
  }

  /// Formats a number with at most two decimals, or more.
  private static func number(_ value: Double, decimals: Int = 2) -> String {
    guard value.isFinite, abs(value) < 1e9 else { return "0" }
    let unit: Int64 = (0..<decimals).reduce(1) { unit, _ in 10 * unit }
    let parts = Int64((value * Double(unit)).rounded())
    if parts % unit == 0 { return "\(parts / unit)" }
    return "\(Double(parts) / Double(unit))"
  }

  /// Replaces what XML does not allow in a text.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default:
        let value = scalar.value
        let isAllowed =
          value >= 0x20 && !(0x7F..<0xA0).contains(value) && value & 0xFFFE != 0xFFFE
        result.unicodeScalars.append(isAllowed ? scalar : "?")
      }
    }
    return result
  }
}
