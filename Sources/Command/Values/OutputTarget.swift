import Codecs
import Files
import Glibc
import Sessions
import System

/// Where a command writes sound: a file that appears under its name when it is complete, or a pipe. One
/// thread at a time.
///
/// A pipe gets the sound as it is written. Where the container stores what is known only at the end, the pipe
/// gets the complete file.
final class OutputTarget {
  private enum Way {
    case file(UnfinishedFile)
    case stream(PipeStore)
    /// A file without a name that goes to the pipe at this path when it is complete.
    case complete(FileStore, pipe: String)
  }
  private let way: Way
  private let path: String

  /// Creates the target.
  ///
  /// - Parameter path: The path of a file or FIFO, or - for standard output.
  init(
    _ path: String, _ format: StreamFormat, in container: Container, isReplacing: Bool
  ) throws(SoundFileError) {
    self.path = path
    if !PipedFile.isPipe(path) {
      way = .file(try UnfinishedFile(path, isReplacing: isReplacing))
    } else if let held = MediaFiles.correctedBytes(of: format, inStream: container) {
      way = .stream(try PipeStore(path, holding: held))
    } else {
      way = .complete(try FileStore(namelessFor: PipeStore.name(of: path)), pipe: path)
    }
  }

  var store: any ByteStore {
    switch way {
    case .file(let file): file.store
    case .stream(let store): store
    case .complete(let store, _): store
    }
  }

  /// Runs `body`, and replaces the path of the temporary file in its errors.
  func naming<R>(_ body: () throws(SoundFileError) -> R) throws(SoundFileError) -> R {
    guard case .file(let file) = way else { return try body() }
    return try file.naming(body)
  }

  /// Gives the complete file its name, or writes what is left of it to the pipe.
  func finish() throws(SoundFileError) {
    switch way {
    case .file(let file): try file.finish()
    case .stream(let store): try store.finish()
    case .complete(let store, let path):
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

  /// Returns the name that selects a file's format: that of the path, or for pipes one with the extension
  /// `end`, WAVE's by default.
  static func formatName(_ path: String, _ end: String?) -> String {
    guard PipedFile.isPipe(path) else { return path }
    if end == nil, Container(forPath: path) != nil { return path }
    return "\(PipeStore.name(of: path)).\(end ?? "wav")"
  }
}
