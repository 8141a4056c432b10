import ArgumentParser
import Codecs
import Files
import Glibc
import RealTime
import Sessions
import System

/// A file without a name that holds what comes from standard input or goes to standard output: sound
/// files are read and written at any position, pipes are not.
///
/// The file lies in the folder for temporary files and ends with the process.
struct NamelessFile {
  /// A path under which this process can open the file.
  let path: String
  private let descriptor: CInt

  /// Creates the file.
  ///
  /// - Parameter name: What it holds, for messages.
  init(for name: String) throws(SoundFileError) {
    var template = "\(temporaryFolder)/cuejack-XXXXXX".systemName
    descriptor = unsafe mkstemp(&template)
    guard descriptor >= 0 else { throw SoundFileError(writing: errno, path: name) }
    unsafe unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    path = "/proc/self/fd/\(descriptor)"
  }

  /// Writes the file to standard output.
  func giveStandardOutput() throws(SoundFileError) {
    lseek(descriptor, 0, SEEK_SET)
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = unsafe read(descriptor, &bytes, bytes.count), count != 0 {
      guard count > 0 else { throw SoundFileError(errno: errno, path: Self.output) }
      var done = 0
      while done < count {
        let written = unsafe bytes.withUnsafeBytes { bytes in
          unsafe write(STDOUT_FILENO, bytes.baseAddress?.advanced(by: done), count - done)
        }
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { throw SoundFileError(writing: errno, path: Self.output) }
        done += written
      }
    }
  }

  static let output = "standard output"
}

/// A sound file that comes from standard input.
enum StandardInput {
  static let name = "standard input"

  /// Reads standard input to its end and opens it. Blocks.
  ///
  /// - Parameter raw: The format of samples without a header; nil for a sound file.
  static func open(raw: RawFormat?, isStopped: () -> Bool) throws(SoundFileError) -> SoundReader {
    do throws(SoundFileError) {
      let file = try NamelessFile(for: name)
      let store = try FileStore(creating: file.path, isReplacing: true)
      var position: Int64 = 0
      if let raw {
        let sound = try MediaFiles.create(
          store, container: raw.container, format: .pcm(raw.format))
        try unsafe read(isStopped) { bytes throws(SoundFileError) in
          try unsafe sound.writeBytes(at: position, from: bytes)
          position += Int64(bytes.count)
        }
        try sound.close()
      } else {
        try unsafe read(isStopped) { bytes throws(SoundFileError) in
          try unsafe store.write(at: position, from: bytes)
          position += Int64(bytes.count)
        }
      }
      return try SoundReader(path: file.path)
    } catch {
      throw SoundFileError(error.kind, path: name)
    }
  }

  /// Hands the bytes of standard input to `take` until it ends or `isStopped` returns true.
  private static func read(
    _ isStopped: () -> Bool, _ take: (UnsafeRawBufferPointer) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while !isStopped() {
      var ready = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&ready, 1, 100) == 0 { continue }
      let count = unsafe Glibc.read(STDIN_FILENO, &bytes, bytes.count)
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        throw SoundFileError(errno: errno, path: name)
      }
      let taken = unsafe bytes.withUnsafeBytes { bytes in
        Result { () throws(SoundFileError) in try unsafe take(.init(rebasing: bytes[..<count])) }
      }
      try taken.get()
    }
  }
}

/// The value of `--raw`: the format of samples without a header, such as `s16,44100,2`.
struct RawFormat: Sendable {
  let format: PCMFormat

  init(parsing text: String) throws {
    guard let format = Self.format(text) else {
      throw ValidationError(
        "“\(text)” is no FORMAT[,RATE[,CHANNELS]], where FORMAT is one of u8, s8, s16, s24, s32, f32 and "
          + "f64, or has be at its end for big-endian samples, such as s16be")
    }
    self.format = format
  }

  private static func format(_ text: String) -> PCMFormat? {
    let words = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    guard (1...3).contains(words.count) else { return nil }
    let isBigEndian = words[0].hasSuffix("be")
    guard
      case .pcm(let kind, let bits) = SoundCoding(String(words[0].dropLast(isBigEndian ? 2 : 0)))
    else { return nil }
    var format = PCMFormat(
      sampleRate: 48000, channels: 2, kind: kind, bitsPerSample: bits,
      isBigEndian: isBigEndian && bits > 8)
    if words.count > 1 {
      let isThousands = words[1].lowercased().hasSuffix("k")
      guard let rate = Double(isThousands ? String(words[1].dropLast()) : words[1]) else {
        return nil
      }
      format.sampleRate = isThousands ? rate * 1000 : rate
    }
    if words.count > 2 {
      guard let channels = Int(words[2]) else { return nil }
      format.channels = channels
    }
    guard (1000...1_000_000).contains(format.sampleRate),
      (1...PCMFormat.maximumChannels).contains(format.channels)
    else { return nil }
    return format
  }

  /// A container that holds the format as it is.
  fileprivate var container: Container {
    // CAF has no unsigned integers.
    format.kind == .unsignedInteger ? .rf64 : .caf
  }
}
