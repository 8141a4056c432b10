import CFFmpeg
import Codecs
import Glibc

/// A store as libavformat's I/O context (AVIOContext) sees it: a stream with a position.
///
/// One thread at a time. libavformat holds an unretained pointer to this object, so it must outlive
/// the format context that uses it.
@safe
final class StoreStream {
  let store: any ByteStore
  /// The store's error, if one caused the latest libavformat call to fail.
  private(set) var failure: SoundFileError?
  /// The I/O context to pass to libavformat.
  private(set) var context: UnsafeMutablePointer<AVIOContext>?
  private var position: Int64 = 0
  /// Bytes written before this offset are dropped.
  var firstKeptByte: Int64 = 0

  private static var bufferBytes: Int { 1 << 16 }

  init(_ store: any ByteStore, isWriting: Bool) throws(SoundFileError) {
    self.store = store
    guard let buffer = ffmpeg.av_malloc(Self.bufferBytes) else {
      throw SoundFileError(.system(ENOMEM), path: store.name)
    }
    unsafe context = cue_avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), Int32(Self.bufferBytes), isWriting ? 1 : 0,
      Unmanaged.passUnretained(self).toOpaque(),
      { stream, memory, count in unsafe StoreStream.at(stream).read(memory, count) },
      { stream, memory, count in unsafe StoreStream.at(stream).write(memory, count) },
      { stream, offset, origin in unsafe StoreStream.at(stream).seek(offset, origin) })
    guard let context = unsafe context else {
      unsafe ffmpeg.av_free(buffer)
      throw SoundFileError(.system(ENOMEM), path: store.name)
    }
    if store.isStream { unsafe context.pointee.seekable = 0 }
  }

  deinit {
    // libavformat may have replaced the buffer.
    if let context = unsafe context { unsafe ffmpeg.av_free(context.pointee.buffer) }
    unsafe ffmpeg.avio_context_free(&context)
  }

  private func read(_ memory: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32 {
    guard count > 0 else { return 0 }
    do throws(SoundFileError) {
      let buffer = unsafe UnsafeMutableRawBufferPointer(start: memory, count: Int(count))
      let done = try unsafe store.read(at: position, into: buffer)
      position += Int64(done)
      return done == 0 ? cue_av_error_end_of_file : Int32(done)
    } catch {
      failure = error
      return -EIO
    }
  }

  private func write(_ memory: UnsafePointer<UInt8>?, _ count: Int32) -> Int32 {
    guard count > 0 else { return 0 }
    let dropped = Int(min(Int64(count), max(0, firstKeptByte - position)))
    do throws(SoundFileError) {
      let buffer = unsafe UnsafeRawBufferPointer(start: memory, count: Int(count))
      if dropped < buffer.count {
        try unsafe store.write(
          at: position + Int64(dropped),
          from: UnsafeRawBufferPointer(rebasing: buffer[dropped...]))
      }
      position += Int64(count)
      return count
    } catch {
      failure = error
      return -EIO
    }
  }

  private func seek(_ offset: Int64, _ origin: Int32) -> Int64 {
    do throws(SoundFileError) {
      let base: Int64
      switch origin & ~AVSEEK_FORCE {
      case AVSEEK_SIZE where store.isStream: return Int64(-ENOSYS)
      case AVSEEK_SIZE: return try store.byteCount()
      case SEEK_CUR: base = position
      case SEEK_END: base = try store.byteCount()
      default: base = 0
      }
      let (target, overflow) = base.addingReportingOverflow(offset)
      guard !overflow, target >= 0 else { return Int64(-EINVAL) }
      position = target
      return target
    } catch {
      failure = error
      return Int64(-EIO)
    }
  }

  private static func at(_ pointer: UnsafeMutableRawPointer?) -> StoreStream {
    guard let pointer = unsafe pointer else { preconditionFailure("libavformat lost its store") }
    return unsafe Unmanaged<StoreStream>.fromOpaque(pointer).takeUnretainedValue()
  }
}
