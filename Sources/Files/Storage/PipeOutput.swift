package import Codecs

/// A sound file that goes to a pipe: as it is written, or, where the container stores what is known only at the end,
/// once it is complete. One thread at a time.
package final class PipeOutput: Sendable {
  /// The path of a FIFO, or - for standard output.
  private let path: String
  /// The store that writers of the file use.
  package let store: any ByteStore

  /// Opens the pipe, which waits until somebody reads from it, unless the file must be complete first.
  package init(
    _ path: String, _ format: StreamFormat, in container: Container
  ) throws(SoundFileError) {
    self.path = path
    store =
      if let held = MediaFiles.correctedBytes(of: format, inStream: container) {
        try PipeStore(path, holding: held)
      } else {
        try FileStore(namelessFor: PipeStore.name(of: path))
      }
  }

  /// Writes what is left of the file.
  package func finish() throws(SoundFileError) {
    if let pipe = store as? PipeStore { return try pipe.finish() }
    let pipe = try PipeStore(path, holding: 0)
    let total = try store.byteCount()
    var position: Int64 = 0
    while position < total {
      let count = Int(min(1 << 16, total - position))
      guard let bytes = try store.bytes(at: position, count: count) else { break }
      try pipe.write(bytes, at: position)
      position += Int64(count)
    }
  }
}
