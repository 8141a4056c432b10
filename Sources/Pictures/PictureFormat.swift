import System

/// A kind of file that a picture is written as, by the end of the file's name.
package enum PictureFormat: String, CaseIterable, Sendable {
  case svg, png, pdf

  /// The format that the end of a file's name asks for; nil if there is none.
  package init?(ofFile path: String) {
    self.init(rawValue: path.pathExtension.dropFirst().lowercased())
  }
}
