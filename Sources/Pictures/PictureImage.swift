/// Pixels in a picture, from the top left one, row by row.
package struct PictureImage: Sendable {
  /// Position of the top left corner.
  package let x, y: Double
  package let width: Int
  /// The color of each pixel, such as 0xFF8000.
  package let pixels: [UInt32]
  package var height: Int { pixels.count / width }

  package init(x: Double, y: Double, width: Int, pixels: [UInt32]) {
    self.x = x
    self.y = y
    self.width = width
    self.pixels = pixels
  }
}
