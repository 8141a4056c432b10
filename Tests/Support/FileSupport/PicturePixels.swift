import Foundation

/// The pixels of a picture file, from the top left one, as FFmpeg and librsvg decode it.
package struct PicturePixels {
  package let width: Int
  package let height: Int
  /// Three bytes for each pixel.
  package let bytes: [UInt8]

  /// Decodes a file's bytes.
  ///
  /// - Parameter format: `png` or `svg`.
  package init(_ file: [UInt8], _ format: String = "png") throws {
    let folder = try TemporaryFolder()
    let path = folder.file("picture.\(format)")
    try Data(file).write(to: URL(fileURLWithPath: path))
    let decoded = try tool(
      "ffmpeg", ["-v", "error", "-i", path, "-f", "image2pipe", "-c:v", "ppm", "-"]
    ).output
    // A head of three lines: the kind, the width and the height, the greatest value.
    let lines = decoded.split(separator: 10, maxSplits: 3)
    let size = String(decoding: lines[1], as: UTF8.self).split(separator: " ").compactMap {
      Int($0)
    }
    (width, height) = (size[0], size[1])
    bytes = Array(decoded.suffix(3 * width * height))
  }

  /// Returns a pixel's color, such as 0xFF8000.
  package func color(_ x: Int, _ y: Int) -> UInt32 {
    let index = 3 * (y * width + x)
    return bytes[index..<index + 3].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
