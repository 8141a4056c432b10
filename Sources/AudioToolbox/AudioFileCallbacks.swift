import CAudioToolbox
import Files
import Synchronization

/// A file that an app keeps and reads and writes itself. Its functions are called one at a time.
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

  func byteCount() throws(SoundFileError) -> Int64 {
    let count = functions.withLock { unsafe $0.getSize($0.data) }
    guard count >= 0 else { throw failure(kAudioFileUnspecifiedError) }
    return count
  }

  func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    let functions = functions.withLock { $0 }
    var done = 0
    while done < buffer.count, let start = buffer.baseAddress {
      let wanted = min(buffer.count - done, Self.mostBytes)
      var count: UInt32 = 0
      let status = self.functions.withLock { _ in
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
    let functions = functions.withLock { $0 }
    guard let write = unsafe functions.write else {
      throw SoundFileError(.notForWriting, path: name)
    }
    var done = 0
    while done < buffer.count, let start = buffer.baseAddress {
      let wanted = min(buffer.count - done, Self.mostBytes)
      var count: UInt32 = 0
      let status = self.functions.withLock { _ in
        unsafe write(functions.data, offset &+ Int64(done), UInt32(wanted), start + done, &count)
      }
      guard status == noErr else { throw failure(status) }
      guard count >= wanted else { throw SoundFileError(.noRoom, path: name) }
      done += wanted
    }
  }

  func setByteCount(_ count: Int64) throws(SoundFileError) {
    let status = functions.withLock { functions in
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
