/// A color with 8 bits each of red, green and blue.
package struct PictureColor: Sendable, Hashable {
  package let red, green, blue: UInt8

  /// Creates a color from its hexadecimal digits, such as 0xFF8000.
  init(_ digits: UInt32) {
    red = UInt8(truncatingIfNeeded: digits >> 16)
    green = UInt8(truncatingIfNeeded: digits >> 8)
    blue = UInt8(truncatingIfNeeded: digits)
  }

  /// The color in CSS.
  var css: String {
    "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  static let paper = PictureColor(0xFFFFFF)
  static let ink = PictureColor(0x1F2933)
  static let faint = PictureColor(0x7B8794)
  static let rule = PictureColor(0xD9DEE3)
}

/// A point of a picture, in pixels from the top left corner.
package struct PicturePoint: Sendable, Hashable {
  package var x, y: Double
  init(_ x: Double, _ y: Double) {
    self.x = x
    self.y = y
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

  package init(width: Double, height: Double) {
    self.width = width
    self.height = height
  }

  mutating func rectangle(
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

  mutating func text(
    _ text: String, _ x: Double, _ y: Double, size: Double, _ color: PictureColor,
    upTo width: Double = .infinity
  ) {
    let text = StrokeFont.fitted(text, size: size, width: width)
    if !text.isEmpty { marks.append(.text(text, x: x, y: y, size: size, color)) }
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

  /// Formats a number with at most two decimals.
  private static func number(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e9 else { return "0" }
    let hundredths = Int64((value * 100).rounded())
    if hundredths % 100 == 0 { return "\(hundredths / 100)" }
    return "\(Double(hundredths) / 100)"
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
