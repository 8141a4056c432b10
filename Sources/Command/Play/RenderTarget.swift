import Files
import Sessions

/// Where a rendering goes: a file that appears under its name when it is complete, or standard output,
/// which gets the complete file. One thread at a time.
final class RenderTarget {
  let store: FileStore
  private let file: UnfinishedFile?
  private let output: NamelessFile?

  /// Creates the target.
  ///
  /// - Parameter path: The path of a file, or - for standard output.
  init(_ path: String, isReplacing: Bool) throws(SoundFileError) {
    if path == "-" {
      let output = try NamelessFile(for: NamelessFile.output)
      self.output = output
      file = nil
      store = try FileStore(creating: output.path, isReplacing: true)
    } else {
      let file = try UnfinishedFile(path, isReplacing: isReplacing)
      self.file = file
      output = nil
      store = file.store
    }
  }

  /// Runs `body`, and replaces the path of the temporary file in its errors.
  func naming<R>(_ body: () throws(SoundFileError) -> R) throws(SoundFileError) -> R {
    if let file { return try file.naming(body) }
    do throws(SoundFileError) {
      return try body()
    } catch {
      throw SoundFileError(error.kind, path: NamelessFile.output)
    }
  }

  /// Gives the complete file its name, or writes it to standard output.
  func finish() throws(SoundFileError) {
    try file?.finish()
    try output?.giveStandardOutput()
  }
}
