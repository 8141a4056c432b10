/// A point of a picture, in pixels from the top left corner.
package struct PicturePoint: Sendable, Hashable {
  package var x, y: Double
  package init(_ x: Double, _ y: Double) {
    self.x = x
    self.y = y
  }
}
