/// A complete file of a recording in several.
struct FileEvent: Encodable {
  let event = "file"
  let file: String
  /// The recording's frame that is the file's first, from 0.
  let firstFrame: Int64
  let frames: Int64
  let bytes: Int64
}
