/// The reason why a picture cannot be drawn.
package struct PictureError: Error, CustomStringConvertible {
  package let description: String
}
