import Foundation
import Pictures

/// A plot of figures that grow with a number: both axes logarithmic.
struct Plot {
  /// One line of the plot, with positive values.
  struct Curve {
    let name: String
    let points: [(x: Double, y: Double)]

    init<R>(_ name: String, _ rows: [R], _ point: (R) -> (Double, Double)?) {
      self.name = name
      points = rows.compactMap(point).filter { $0.0 > 0 && $0.1 > 0 }
        .map { (x: $0.0, y: $0.1) }
    }

    /// What each unit of x adds, from the first point to the last.
    var slope: Double? {
      guard let first = points.first, let last = points.last, last.x > first.x else { return nil }
      return (last.y - first.y) / (last.x - first.x)
    }
  }

  /// The name of the file, without its extension.
  let name: String
  let title: String
  let x: String
  let y: String
  let curves: [Curve]

  init(name: String, title: String, x: String, y: String, _ curves: [Curve]) {
    self.name = name
    self.title = title
    self.x = x
    self.y = y
    self.curves = curves.filter { !$0.points.isEmpty }
  }

  private static let colors: [UInt32] = [
    0x1F77B4, 0xD9541E, 0x2C8A3D, 0x8E5BA6, 0x946B2D, 0xC03A76,
  ]

  /// The plot with its axes and its legend.
  var picture: Picture {
    let (width, height, left, right, top) = (720.0, 400.0, 70.0, 240.0, 44.0)
    let bottom = height - 46
    var picture = Picture(width: width, height: height)
    picture.text(title, left, 24, size: 14, .ink)
    let points = curves.flatMap(\.points)
    let across = Scale(points.map(\.x), from: left, to: width - right)
    let up = Scale(points.map(\.y), from: bottom, to: top)
    for (value, place) in across.marks {
      picture.marks.append(
        .line([PicturePoint(place, top), PicturePoint(place, bottom)], .rule, width: 1))
      picture.text(Self.text(value), place - 6, bottom + 16, size: 11, .faint)
    }
    for (value, place) in up.marks {
      picture.marks.append(
        .line([PicturePoint(left, place), PicturePoint(width - right, place)], .rule, width: 1))
      picture.text(Self.text(value), 8, place + 4, size: 11, .faint)
    }
    picture.text(x, left, bottom + 34, size: 12, .ink)
    picture.text(y, 8, top - 6, size: 12, .ink)
    for (i, curve) in curves.enumerated() {
      let color = PictureColor(Self.colors[i % Self.colors.count])
      let places = curve.points.map { PicturePoint(across.place($0.x), up.place($0.y)) }
      picture.marks.append(.line(places, color, width: 2))
      for place in places {
        picture.rectangle(place.x - 2.5, place.y - 2.5, 5, 5, fill: color)
      }
      let line = top + 14 + 36 * Double(i)
      picture.rectangle(width - right + 16, line - 8, 12, 4, fill: color)
      picture.text(curve.name, width - right + 34, line, size: 12, .ink)
      if let slope = curve.slope {
        picture.text(
          "each adds \(Self.text(slope))", width - right + 34, line + 15, size: 11, .faint)
      }
    }
    return picture
  }

  /// A number with three significant digits.
  static func text(_ value: Double) -> String { String(format: "%.3g", value) }

  /// A logarithmic axis from one power of ten to another.
  private struct Scale {
    let least, greatest: Double
    let begin, end: Double

    init(_ values: [Double], from begin: Double, to end: Double) {
      least = floor(log10(values.min() ?? 1))
      greatest = max(ceil(log10(values.max() ?? 10)), least + 1)
      self.begin = begin
      self.end = end
    }

    func place(_ value: Double) -> Double {
      begin + (end - begin) * (log10(value) - least) / (greatest - least)
    }

    /// The powers of ten, and where they are.
    var marks: [(value: Double, place: Double)] {
      (Int(least)...Int(greatest)).map { (pow(10, Double($0)), place(pow(10, Double($0)))) }
    }
  }
}
