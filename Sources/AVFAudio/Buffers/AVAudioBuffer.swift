public import AudioToolbox
public import Foundation

/// A buffer of sound with its format. One thread at a time.
@safe
open class AVAudioBuffer: NSObject, NSCopying, NSMutableCopying {
  /// The format.
  public let format: AVAudioFormat
  /// The list whose sizes are those of the valid sound.
  private let valid: UnsafeMutableAudioBufferListPointer
  /// The list that programs change.
  private let changeable: UnsafeMutableAudioBufferListPointer
  /// Frees the memory of the sound. Gets the list with the sizes of the whole memory.
  private let release: (UnsafePointer<AudioBufferList>) -> Void
  private let capacity: UInt32

  /// - Parameters:
  ///   - starts: The memory of each buffer.
  ///   - bytes: The size of each.
  ///   - channels: The channels in each.
  init(
    _ format: AVAudioFormat, at starts: [UnsafeMutableRawPointer?], bytes: UInt32, channels: UInt32,
    release: @escaping (UnsafePointer<AudioBufferList>) -> Void
  ) {
    self.format = format
    capacity = bytes
    unsafe self.release = release
    func list() -> UnsafeMutableAudioBufferListPointer {
      let list = unsafe AudioBufferList.allocate(maximumBuffers: starts.count)
      for index in unsafe starts.indices {
        unsafe list[index] = AudioBuffer(
          mNumberChannels: channels, mDataByteSize: bytes, mData: starts[index])
      }
      return unsafe list
    }
    unsafe valid = list()
    unsafe changeable = list()
  }

  deinit {
    setValidBytes(capacity)
    unsafe release(valid.unsafePointer)
    unsafe free(valid.unsafeMutablePointer)
    unsafe free(changeable.unsafeMutablePointer)
  }

  /// The memory of the sound. The sizes are those of the valid part. It is valid as long as this object is.
  public var audioBufferList: UnsafePointer<AudioBufferList> { unsafe valid.unsafePointer }

  /// The memory of the sound, for functions that fill it. The sizes are first those of the whole memory, then what
  /// the program sets. What is valid is told by `frameLength`, or by `byteLength`.
  public var mutableAudioBufferList: UnsafeMutablePointer<AudioBufferList> {
    unsafe changeable.unsafeMutablePointer
  }

  /// The memory of each buffer.
  var starts: [UnsafeMutableRawPointer] { unsafe valid.compactMap { unsafe $0.mData } }

  /// Sets the size of the valid part of each buffer in bytes.
  func setValidBytes(_ bytes: UInt32) {
    for index in unsafe valid.indices { unsafe valid[index].mDataByteSize = bytes }
  }

  /// Copies the valid part of the buffers of another object with the same format.
  func copyBytes(of other: AVAudioBuffer) {
    for index in unsafe valid.indices {
      let buffer = unsafe other.valid[index]
      guard let from = unsafe buffer.mData, let to = unsafe valid[index].mData else { continue }
      unsafe to.copyMemory(from: from, byteCount: Int(buffer.mDataByteSize))
    }
  }

  /// The kinds of buffers return a copy of themselves.
  func duplicated() -> AVAudioBuffer { self }

  /// Returns a buffer with the same sound in memory of its own.
  open func copy(with zone: NSZone? = nil) -> Any { duplicated() }

  /// Returns a buffer with the same sound in memory of its own.
  open func mutableCopy(with zone: NSZone? = nil) -> Any { duplicated() }
}
