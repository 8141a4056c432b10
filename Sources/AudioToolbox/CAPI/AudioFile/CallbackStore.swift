import CAudioToolbox
import Files
import Glibc
import Synchronization

/// A file whose bytes the app stores, and reads and writes with its own callbacks. One callback
/// runs at a time.
///
/// Other calls on the file wait meanwhile. A call from inside a callback would wait for itself;
/// `isCalling` detects it.
@safe
final class CallbackStore: ByteStore {
  @safe
  private struct Functions: @unchecked Sendable {
    let data: UnsafeMutableRawPointer
    let read: AudioFile_ReadProc
    let write: AudioFile_WriteProc?
    let getSize: AudioFile_GetSizeProc
    let setSize: AudioFile_SetSizeProc?
  }
  private let functions: Mutex<Functions>
  /// The thread that is running one of the app's callbacks; 0 if there is none.
  private let caller = Atomic<UInt>(0)
  let name = "the program's own file"
  let isWritable: Bool

  init(
    _ data: UnsafeMutableRawPointer, read: @escaping AudioFile_ReadProc,
    write: AudioFile_WriteProc?, getSize: @escaping AudioFile_GetSizeProc,
    setSize: AudioFile_SetSizeProc?
  ) {
    isWritable = unsafe write != nil && setSize != nil
    functions = Mutex(
      unsafe Functions(data: data, read: read, write: write, getSize: getSize, setSize: setSize))
  }

  /// The maximum number of bytes per callback.
  private static var mostBytes: Int { 1 << 30 }

  /// True if the calling thread is inside one of the app's callbacks.
  var isCalling: Bool { caller.load(ordering: .relaxed) == pthread_self() }

  /// Runs `body`, which calls one of the app's callbacks.
  private func call<Result>(_ body: (Functions) -> Result) -> Result {
    functions.withLock { functions in
      caller.store(pthread_self(), ordering: .relaxed)
      defer { caller.store(0, ordering: .relaxed) }
      return body(functions)
    }
  }

  func byteCount() throws(SoundFileError) -> Int64 {
    let count = call { unsafe $0.getSize($0.data) }
    guard count >= 0 else { throw failure(kAudioFileUnspecifiedError) }
    return count
  }

  func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    var done = 0
    while done < buffer.count, let start = buffer.baseAddress {
      let wanted = min(buffer.count - done, Self.mostBytes)
      var count: UInt32 = 0
      let status = call { functions in
        unsafe functions.read(
          functions.data, offset &+ Int64(done), UInt32(wanted), start + done, &count)
      }
      done += min(Int(count), wanted)
      // A callback signals the end of the file by its status or by returning fewer bytes.
      if status == kAudioFileEndOfFileError || (status == noErr && count < wanted) { break }
      guard status == noErr else { throw failure(status) }
    }
    return done
  }

  func write(
    at offset: Int64, from buffer: UnsafeRawBufferPointer
  ) throws(SoundFileError) {
    var done = 0
    while done < buffer.count, let start = buffer.baseAddress {
      let wanted = min(buffer.count - done, Self.mostBytes)
      var count: UInt32 = 0
      let status = call { functions in
        unsafe functions.write.map {
          unsafe $0(
            functions.data, offset &+ Int64(done), UInt32(wanted), start + done, &count)
        }
      }
      guard let status else { throw SoundFileError(.notForWriting, path: name) }
      guard status == noErr else { throw failure(status) }
      guard count >= wanted else { throw SoundFileError(.noRoom, path: name) }
      done += wanted
    }
  }

  func setByteCount(_ count: Int64) throws(SoundFileError) {
    let status = call { functions in
      unsafe functions.setSize.map { unsafe $0(functions.data, count) }
    }
    guard let status else { throw SoundFileError(.notForWriting, path: name) }
    guard status == noErr else { throw failure(status) }
  }

  func synchronize() {}

  private func failure(_ status: OSStatus) -> SoundFileError {
    SoundFileError(.application(status), path: name)
  }
}

extension MediaFile {
  /// True if the calling thread is inside one of the app's callbacks for this file.
  var isCalling: Bool { (store as? CallbackStore)?.isCalling == true }
}
