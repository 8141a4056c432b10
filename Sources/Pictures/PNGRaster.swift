import CPNG

/// Draws pictures into pixels, with smooth edges, and compresses them as PNG.
struct PNGRaster {
  /// Samples of a pixel in each direction.
  private static let samples = 4
  /// Rows that are drawn at a time, so that a large picture needs little memory.
  private static let bandRows = 64
  /// The greatest width and height in pixels.
  static let mostPixels = 16_000

  private let picture: Picture
  private let width, height: Int

  /// Creates a raster; nil if the picture is too large.
  init?(_ picture: Picture) {
    guard picture.width > 0, picture.height > 0,
      max(picture.width, picture.height) <= Double(Self.mostPixels)
    else { return nil }
    self.picture = picture
    width = Int(picture.width.rounded(.up))
    height = Int(picture.height.rounded(.up))
  }

  /// A polygon to be filled, in samples.
  private struct Area {
    let points: [PicturePoint]
    let color: PictureColor
    let top, bottom: Double

    init(_ points: [PicturePoint], _ color: PictureColor) {
      self.points = points.map { PicturePoint($0.x * Double(samples), $0.y * Double(samples)) }
      self.color = color
      top = self.points.map(\.y).min() ?? 0
      bottom = self.points.map(\.y).max() ?? 0
    }
  }

  /// Returns the PNG file; nil if libpng fails.
  func png() -> [UInt8]? {
    var areas: [Area] = []
    for mark in picture.marks { Self.add(mark, to: &areas) }
    var pixels = [UInt8](repeating: 0, count: 3 * width * height)
    for first in stride(from: 0, to: height, by: Self.bandRows) {
      draw(areas, rows: first..<min(height, first + Self.bandRows), into: &pixels)
    }
    for image in picture.images { draw(image, into: &pixels) }
    return compress(pixels)
  }

  // MARK: Shapes

  private static func add(_ mark: Picture.Mark, to areas: inout [Area]) {
    switch mark {
    case .polygon(let points, let fill): areas.append(Area(points, fill))
    case .line(let points, let color, let width): stroke(points, color, width, &areas)
    case .curve(let a, let b, let c, let d, let color, let width):
      let points = (0...16).map { step in
        let t = Double(step) / 16
        let u = 1 - t
        func blend(_ a: Double, _ b: Double, _ c: Double, _ d: Double) -> Double {
          u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d
        }
        return PicturePoint(blend(a.x, b.x, c.x, d.x), blend(a.y, b.y, c.y, d.y))
      }
      stroke(points, color, width, &areas)
    case .text(let text, var x, let y, let size, let color):
      let scale = StrokeFont.scale(size: size)
      for scalar in text.unicodeScalars {
        let glyph = StrokeFont.glyph(scalar)
        for points in glyph.strokes {
          let placed = points.map { PicturePoint(x + $0.x * scale, y + ($0.y - 6) * scale) }
          stroke(placed, color, max(1, size / 11), &areas)
        }
        x += StrokeFont.advance(glyph, size: size)
      }
    }
  }

  /// Adds the segments of a line as rectangles, each longer by half the width at both ends.
  private static func stroke(
    _ points: [PicturePoint], _ color: PictureColor, _ width: Double, _ areas: inout [Area]
  ) {
    for (a, b) in zip(points, points.dropFirst()) {
      let (dx, dy) = (b.x - a.x, b.y - a.y)
      let length = (dx * dx + dy * dy).squareRoot()
      let (ux, uy) = length > 0 ? (dx / length, dy / length) : (1, 0)
      let (ex, ey) = (ux * width / 2, uy * width / 2)
      areas.append(
        Area(
          [
            PicturePoint(a.x - ex - ey, a.y - ey + ex), PicturePoint(b.x + ex - ey, b.y + ey + ex),
            PicturePoint(b.x + ex + ey, b.y + ey - ex), PicturePoint(a.x - ex + ey, a.y - ey - ex),
          ], color))
    }
  }

  // MARK: Pixels

  private func draw(_ areas: [Area], rows: Range<Int>, into pixels: inout [UInt8]) {
    let samples = Self.samples
    let columns = width * samples
    let first = rows.lowerBound * samples
    let count = rows.count * samples
    let paper = PictureColor.paper
    var band = [UInt8](repeating: 0, count: 3 * columns * count)
    for index in 0..<columns * count {
      band[3 * index] = paper.red
      band[3 * index + 1] = paper.green
      band[3 * index + 2] = paper.blue
    }
    var crossings: [Double] = []
    for area in areas {
      guard area.bottom >= Double(first), area.top <= Double(first + count) else { continue }
      let top = max(first, Int(max(area.top, -1e6)))
      let bottom = min(first + count, Int(min(area.bottom, 1e6)) + 1)
      for row in top..<max(top, bottom) {
        // The middle of the row of samples.
        let y = Double(row) + 0.5
        crossings.removeAll(keepingCapacity: true)
        for (index, a) in area.points.enumerated() {
          let b = area.points[index + 1 < area.points.count ? index + 1 : 0]
          if (a.y <= y) != (b.y <= y) {
            crossings.append(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x))
          }
        }
        crossings.sort()
        for pair in stride(from: 0, to: crossings.count - 1, by: 2) {
          let left = Int(max(0, min(Double(columns), (crossings[pair]).rounded())))
          let right = Int(max(0, min(Double(columns), (crossings[pair + 1]).rounded())))
          var index = 3 * ((row - first) * columns + left)
          for _ in left..<max(left, right) {
            band[index] = area.color.red
            band[index + 1] = area.color.green
            band[index + 2] = area.color.blue
            index += 3
          }
        }
      }
    }
    // Each pixel is the mean of its samples.
    for row in rows {
      for column in 0..<width {
        for channel in 0..<3 {
          var sum = 0
          for y in 0..<samples {
            let line = ((row - rows.lowerBound) * samples + y) * columns
            for x in 0..<samples { sum += Int(band[3 * (line + column * samples + x) + channel]) }
          }
          pixels[3 * (row * width + column) + channel] = UInt8(sum / (samples * samples))
        }
      }
    }
  }

  private func draw(_ image: PictureImage, into pixels: inout [UInt8]) {
    let columns = max(0, -image.x)..<max(0, -image.x, min(image.width, width - image.x))
    guard !columns.isEmpty else { return }
    for row in 0..<image.height where (0..<height).contains(image.y + row) {
      let target = 3 * ((image.y + row) * width + image.x + columns.lowerBound)
      let source = 3 * (row * image.width + columns.lowerBound)
      pixels.replaceSubrange(
        target..<target + 3 * columns.count, with: image.bytes[source..<source + 3 * columns.count])
    }
  }

  private func compress(_ pixels: [UInt8]) -> [UInt8]? {
    var image = unsafe png_image()
    unsafe image.version = png_uint_32(PNG_IMAGE_VERSION)
    unsafe image.width = png_uint_32(width)
    unsafe image.height = png_uint_32(height)
    unsafe image.format = png_uint_32(PNG_FORMAT_RGB)
    defer { unsafe png_image_free(&image) }
    var size = 0
    guard unsafe png_image_write_to_memory(&image, nil, &size, 0, pixels, 0, nil) != 0 else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: size)
    guard unsafe png_image_write_to_memory(&image, &bytes, &size, 0, pixels, 0, nil) != 0 else {
      return nil
    }
    return Array(bytes[..<min(size, bytes.count)])
  }
}

extension Picture {
  /// The picture as a PNG file; nil if it is larger than 16,000 pixels or cannot be compressed.
  package var png: [UInt8]? { PNGRaster(self)?.png() }
}
