public import CAudioToolbox
import Glibc

// Buffer lists in Swift, with the names of Apple's Core Audio module.

/// A pointer to an `AudioBufferList`, as a collection of its buffers. The creator owns the memory.
///
/// ```swift
/// let list = AudioBufferList.allocate(maximumBuffers: 2)
/// defer { free(list.unsafeMutablePointer) }
/// for i in list.indices { list[i].mNumberChannels = 1 }
/// ```
@unsafe public struct UnsafeMutableAudioBufferListPointer {
  /// The list.
  public var unsafeMutablePointer: UnsafeMutablePointer<AudioBufferList>

  /// The list, for functions that only read it.
  public var unsafePointer: UnsafePointer<AudioBufferList> {
    unsafe UnsafePointer(unsafeMutablePointer)
  }

  /// Creates the collection of a list.
  public init(_ p: UnsafeMutablePointer<AudioBufferList>) { unsafe unsafeMutablePointer = p }

  /// Returns nil for a pointer that is nil.
  public init?(_ p: UnsafeMutablePointer<AudioBufferList>?) {
    guard let p = unsafe p else { return nil }
    unsafe self.init(p)
  }

  /// The number of buffers. The memory must have room for those that a larger number adds.
  public var count: Int {
    get { unsafe Int(unsafeMutablePointer.pointee.mNumberBuffers) }
    nonmutating set { unsafe unsafeMutablePointer.pointee.mNumberBuffers = UInt32(newValue) }
  }

  fileprivate var first: UnsafeMutablePointer<AudioBuffer> {
    unsafe (UnsafeMutableRawPointer(unsafeMutablePointer) + AudioBufferList.headBytes)
      .assumingMemoryBound(to: AudioBuffer.self)
  }
}

extension UnsafeMutableAudioBufferListPointer: @unsafe MutableCollection,
  @unsafe RandomAccessCollection
{
  /// 0.
  public var startIndex: Int { 0 }
  /// The number of buffers.
  public var endIndex: Int { unsafe count }

  /// A buffer of the list.
  public subscript(index: Int) -> AudioBuffer {
    get {
      precondition(unsafe indices.contains(index), "no buffer of the list has this index")
      return unsafe first[index]
    }
    nonmutating set {
      precondition(unsafe indices.contains(index), "no buffer of the list has this index")
      unsafe first[index] = newValue
    }
  }
}

extension AudioBufferList {
  fileprivate static var headBytes: Int { unsafe MemoryLayout<Self>.offset(of: \.mBuffers)! }

  /// Returns the size in bytes of a list with a number of buffers, at least 1.
  public static func sizeInBytes(maximumBuffers: Int) -> Int {
    precondition(maximumBuffers >= 1, "a list has at least one buffer")
    return unsafe headBytes + maximumBuffers * MemoryLayout<AudioBuffer>.stride
  }

  /// Allocates a list with a number of buffers, at least 1, which are all zero. The caller frees it with `free`.
  public static func allocate(maximumBuffers: Int) -> UnsafeMutableAudioBufferListPointer {
    let memory = unsafe calloc(1, sizeInBytes(maximumBuffers: maximumBuffers))!
    let list = unsafe UnsafeMutableAudioBufferListPointer(
      memory.bindMemory(to: AudioBufferList.self, capacity: 1))
    unsafe list.count = maximumBuffers
    return unsafe list
  }
}

extension AudioBuffer {
  /// Creates a buffer of elements that the caller owns.
  public init<Element>(
    _ typedBuffer: UnsafeMutableBufferPointer<Element>, numberOfChannels: Int
  ) {
    unsafe self.init(
      mNumberChannels: UInt32(numberOfChannels),
      mDataByteSize: UInt32(typedBuffer.count * MemoryLayout<Element>.stride),
      mData: UnsafeMutableRawPointer(typedBuffer.baseAddress))
  }

  fileprivate func elements<Element>(_: Element.Type) -> UnsafeMutableBufferPointer<Element> {
    let count = unsafe Int(mDataByteSize) / MemoryLayout<Element>.stride
    return unsafe UnsafeMutableBufferPointer(
      start: mData?.bindMemory(to: Element.self, capacity: count), count: count)
  }
}

extension UnsafeBufferPointer {
  /// Binds the memory of a buffer to whole elements.
  public init(_ audioBuffer: AudioBuffer) {
    unsafe self.init(audioBuffer.elements(Element.self))
  }
}

extension UnsafeMutableBufferPointer {
  /// Binds the memory of a buffer to whole elements.
  public init(_ audioBuffer: AudioBuffer) {
    unsafe self = audioBuffer.elements(Element.self)
  }
}
