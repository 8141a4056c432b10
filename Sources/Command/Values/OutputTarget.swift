import Codecs
import Files
import Glibc
import Sessions
import System

/// Where a command writes sound: a file that appears under its name when it is complete, or a pipe. One
/// thread at a time.
///
final class OutputTarget {
  private enum Way {
    case file(UnfinishedFile)
    case pipe(PipeOutput)
  }
  private let way: Way

  /// Creates the target.
  ///
  /// - Parameter path: The path of a file or FIFO, or - for standard output.
  init(
    _ path: String, _ format: StreamFormat, in container: Container, isReplacing: Bool
  ) throws(SoundFileError) {
    way =
      PipedFile.isPipe(path)
      ? .pipe(try PipeOutput(path, format, in: container))
      : .file(try UnfinishedFile(path, isReplacing: isReplacing))
  }

  var store: any ByteStore {
    switch way {
    case .file(let file): file.store
    case .pipe(let pipe): pipe.store
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
    case .pipe(let pipe): try pipe.finish()
    }
  }

  /// Ends the command with a usage error unless an extension, if any, names a kind of file.
  static func checkKind(_ end: String?) throws {
    try check(
      end.map { Container(forPath: "a.\($0)") != nil } ?? true,
      "--to takes one of \(SoundFormat.extensions.replacing(".", with: ""))")
  }

  /// Ends the command with a usage error if sound would go to a terminal.
  static func checkTerminal(_ path: String) throws {
    try check(
      path != "-" || isatty(STDOUT_FILENO) == 0,
      "sound is not for a terminal: give a file, or redirect standard output")
  }

  /// Tells how to choose another kind of file if that of a pipe does not take the format.
  ///
  /// - Parameter end: The value of `--to`; nil if it was not given.
  static func adviseKind(_ error: SoundFileError, _ path: String, _ end: String?) {
    guard case .unwritable = error.kind, end == nil, PipedFile.isPipe(path) else { return }
    Screen.shared.remark("--to chooses another kind of file for a pipe, as in --to caf")
  }

  /// Returns the name that selects a file's format: that of the path, or for pipes one with the extension
  /// `end`, WAVE's by default.
  static func formatName(_ path: String, _ end: String?) -> String {
    guard PipedFile.isPipe(path) else { return path }
    if end == nil, Container(forPath: path) != nil { return path }
    return "\(PipeStore.name(of: path)).\(end ?? "wav")"
  }
}
