import Glibc
import Synchronization
import System

/// A store whose bytes go to a pipe in order, as soon as they are written.
///
/// A writer can correct only those last bytes that the store holds back; the store drops other corrections. One
/// thread at a time writes; calls block while the pipe is full.
package final class PipeStore: ByteStore {
  package let name: String
  package let isWritable = true
  package var isStream: Bool { true }
  private let descriptor: Int32
  /// Number of bytes that are held back.
  private let heldBytes: Int

  private struct State {
    /// Bytes that went to the pipe.
    var written: Int64 = 0
    /// The bytes that follow them.
    var tail: [UInt8] = []
  }
  private let state = Mutex(State())

  /// Opens a pipe. Waits until somebody reads from it.
  ///
  /// - Parameters:
  ///   - path: The path of a FIFO; - for standard output.
  ///   - heldBytes: Bytes at the end that can still be corrected.
  package init(_ path: String, holding heldBytes: Int) throws(SoundFileError) {
    name = Self.name(of: path)
    self.heldBytes = heldBytes
    var opened: Int32
    repeat {
      opened =
        path == "-"
        ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        : unsafe open(path.systemName, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
      guard opened < 0 else { break }
      // A FIFO that nobody reads.
      guard errno == ENXIO else { throw SoundFileError(writing: errno, path: name) }
      if PipedFile.hasStopped { throw SoundFileError(.system(EINTR), path: name) }
      usleep(20_000)
    } while opened < 0
    descriptor = opened
    if path != "-" { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) }
  }

  deinit { close(descriptor) }

  /// Returns the name of a pipe in messages.
  package static func name(of path: String) -> String { path == "-" ? "standard output" : path }

  package func byteCount() -> Int64 { state.withLock { $0.written + Int64($0.tail.count) } }

  /// Reads bytes that are held back. Others are gone.
  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    state.withLock { state in
      guard offset >= state.written, offset - state.written < state.tail.count else { return 0 }
      let part = state.tail[Int(offset - state.written)...].prefix(buffer.count)
      unsafe buffer.copyBytes(from: part)
      return part.count
    }
  }

  package func write(
    at offset: Int64, from buffer: UnsafeRawBufferPointer
  ) throws(SoundFileError) {
    try state.withLock { state throws(SoundFileError) in
      // Corrections of what is gone are dropped.
      let skipped = Int(min(Int64(buffer.count), max(0, state.written - offset)))
      let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffer[skipped...])
      guard unsafe !bytes.isEmpty else { return }
      let start = Int(max(0, offset - state.written))
      if start > state.tail.count {
        state.tail += [UInt8](repeating: 0, count: start - state.tail.count)
      }
      let replaced = min(state.tail.count - start, bytes.count)
      unsafe state.tail.replaceSubrange(start..<start + replaced, with: bytes)
      try flush(&state, keeping: heldBytes)
    }
  }

  private func flush(_ state: inout State, keeping kept: Int) throws(SoundFileError) {
    let count = state.tail.count - kept
    guard count > 0 else { return }
    var done = 0
    while done < count {
      let written = unsafe state.tail.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress?.advanced(by: done), count - done)
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw SoundFileError(writing: errno, path: name) }
      done += written
    }
    state.tail.removeFirst(count)
    state.written += Int64(count)
  }

  /// Only bytes that are held back can be removed.
  package func setByteCount(_ count: Int64) {
    state.withLock { state in
      let kept = max(0, count - state.written)
      if kept < state.tail.count { state.tail.removeLast(state.tail.count - Int(kept)) }
    }
  }

  package func synchronize() {}

  /// Writes the bytes that are held back.
  package func finish() throws(SoundFileError) {
    try state.withLock { state throws(SoundFileError) in try flush(&state, keeping: 0) }
  }
}
