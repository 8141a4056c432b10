import CAudioToolbox
import Files
import Glibc
import Synchronization

/// A file that an app keeps and reads and writes itself. Its functions are called one at a time.
///
/// Other calls on the file wait meanwhile. One that a function of the app's makes would wait for itself:
/// `isCalling` tells it from the others.
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
  /// The thread that a function of the app's is running on; 0 if none is.
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

  /// The most bytes that are asked for at a time.
  private static var mostBytes: Int { 1 << 30 }

  /// True if the calling thread is in a function of the app's.
  var isCalling: Bool { caller.load(ordering: .relaxed) == pthread_self() }

  /// Calls a function of the app's.
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
      // Programs say that the file ends here, or that they read less.
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
  /// True if the calling thread is in a function of the app's that keeps the file.
  var isCalling: Bool { (store as? CallbackStore)?.isCalling == true }
}
