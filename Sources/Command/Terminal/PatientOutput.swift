import Glibc

/// Text on its way to a terminal, pipe or file. Writing never waits for a terminal that Ctrl-S has stopped, or
/// for the reader of a pipe. One thread at a time.
struct PatientOutput {
  private var waiting: ArraySlice<UInt8> = []
  /// The file, opened again so that it does not block; nil before the first text.
  private var descriptor: CInt?
  private(set) var isPipe = false
  /// The error of the first write that failed.
  private(set) var failure: CInt?

  /// Bytes that wait at most. Later text is dropped.
  private static let mostBytes = 1 << 24

  /// True if no text waits.
  var isEmpty: Bool { waiting.isEmpty }

  /// Writes text after what waits, as far as that is possible at once.
  mutating func write(_ text: String, to file: CInt) {
    if descriptor == nil { open(file) }
    if waiting.count < Self.mostBytes { waiting += Array(text.utf8) }
    flush()
  }

  private mutating func open(_ file: CInt) {
    descriptor = file
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { return }
    isPipe = status.st_mode & S_IFMT == S_IFIFO
    guard isPipe || isatty(file) == 1 else { return }
    // The file that other processes share stays as it is.
    let own = unsafe Glibc.open(
      "/proc/self/fd/\(file)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    if own >= 0 { descriptor = own }
  }

  /// Writes what waits, as far as that is possible at once.
  ///
  /// - Returns: True if nothing waits any more.
  @discardableResult mutating func flush() -> Bool {
    while let descriptor, !waiting.isEmpty {
      let written = unsafe waiting.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
      }
      if written < 0, errno == EINTR { continue }
      if written < 0, errno == EAGAIN { return false }
      if written < 0 { failure = failure ?? errno }
      waiting = written > 0 ? waiting.dropFirst(written) : []
    }
    return true
  }
}
