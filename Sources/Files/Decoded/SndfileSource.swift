import Codecs
import RealTime

/// A file that libsndfile decodes, and the frame that it returns next.
@safe
final class SndfileSource: DecodedSource, @unchecked Sendable {
  private let store: any ByteStore
  private var handle: SndfileHandle
  private var position: Int64 = 0
  private let bytesPerFrame: Int
  private let memory = GrowingMemory()

  private static var framesAtOnce: Int { 4096 }

  let format: PCMFormat
  /// libsndfile does not say what it cannot decode.
  let missing = MissingSound()

  init(_ store: any ByteStore, _ handle: SndfileHandle) {
    self.store = store
    self.handle = handle
    format = handle.decodedFormat
    bytesPerFrame = format.bytesPerFrame
  }

  /// Opens a file; returns nil if libsndfile cannot read it.
  static func open(_ store: any ByteStore) -> SndfileHandle? {
    guard let total = try? store.byteCount() else { return nil }
    var head: FileHead?
    if case .head(let found)? = try? FileHead.find(in: store) { head = found }
    let source = FileSource(store, total, head?.shown == nil ? nil : head)
    do throws(SndfileHandle.Failure) {
      return try SndfileHandle(source)
    } catch {
      // A pipe has been read already.
      guard let file = store as? FileStore, file.isPlain, !PipedFile.isPipe(file.name),
        let handle = try? SndfileHandle(path: file.name), !handle.isGuessedFromExtension
      else { return nil }
      return handle
    }
  }

  func read(_ count: Int, at frame: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard move(to: frame) else { return 0 }
    var done = 0
    while done < count {
      // libsndfile needs aligned memory, which the buffer may not be.
      let part = decode(min(Self.framesAtOnce, count - done))
      guard part > 0 else { break }
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[(done * bytesPerFrame)...])
        .copyMemory(from: .init(rebasing: memory.bytes[..<(part * bytesPerFrame)]))
      done += part
    }
    return done
  }

  func count(most: Int64) -> Int64 {
    guard move(to: 0) else { return 0 }
    while position < most, decode(Self.framesAtOnce) > 0 {}
    return min(position, most)
  }

  /// Decodes the next frames into `memory`. Returns their number.
  private func decode(_ count: Int) -> Int {
    memory.reserve(Self.framesAtOnce * bytesPerFrame)
    let done = unsafe handle.read(into: .init(rebasing: memory.bytes[..<(count * bytesPerFrame)]))
    position += Int64(done)
    return done
  }

  /// Moves to a frame; returns false if it cannot be reached. In encodings in which libsndfile
  /// cannot seek, decodes everything before the frame.
  private func move(to frame: Int64) -> Bool {
    if position == frame { return true }
    if handle.seek(to: frame) {
      position = frame
      return true
    }
    guard let handle = Self.open(store), handle.decodedFormat == format else {
      return false
    }
    self.handle = handle
    position = 0
    while position < frame {
      guard decode(Int(min(frame - position, Int64(Self.framesAtOnce)))) > 0 else { return false }
    }
    return true
  }
}
