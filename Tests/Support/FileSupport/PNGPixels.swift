import CPNG

/// The pixels of a PNG file, from the top left one.
package struct PNGPixels {
  package let width: Int
  package let height: Int
  /// Three bytes for each pixel.
  package let bytes: [UInt8]

  /// Decodes a file's bytes.
  package init(_ png: [UInt8]) throws {
    var image = png_image()
    image.version = png_uint_32(PNG_IMAGE_VERSION)
    guard png_image_begin_read_from_memory(&image, png, png.count) != 0 else {
      throw ToolFailure(description: "not a PNG file")
    }
    image.format = png_uint_32(PNG_FORMAT_RGB)
    var bytes = [UInt8](repeating: 0, count: Int(3 * image.width * image.height))
    guard png_image_finish_read(&image, nil, &bytes, 0, nil) != 0 else {
      throw ToolFailure(description: "a damaged PNG file")
    }
    (width, height) = (Int(image.width), Int(image.height))
    self.bytes = bytes
  }

  /// Returns a pixel's color, such as 0xFF8000.
  package func color(_ x: Int, _ y: Int) -> UInt32 {
    let index = 3 * (y * width + x)
    return bytes[index..<index + 3].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
