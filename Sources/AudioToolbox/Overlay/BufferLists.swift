public import CAudioToolbox
import Glibc

// Buffer lists in Swift, with the names of Apple's Core Audio module. All of it is inlined into programs: render callbacks
// use it, and what stays generic allocates memory.

/// A pointer to an `AudioBufferList`, as a collection of its buffers. The creator owns the memory.
///
/// ```swift
/// let list = AudioBufferList.allocate(maximumBuffers: 2)
/// defer { free(list.unsafeMutablePointer) }
/// for i in list.indices { list[i].mNumberChannels = 1 }
/// ```
@frozen @unsafe public struct UnsafeMutableAudioBufferListPointer {
  /// The list.
  public var unsafeMutablePointer: UnsafeMutablePointer<AudioBufferList>

  /// The list, for functions that only read it.
  @inlinable public var unsafePointer: UnsafePointer<AudioBufferList> {
    unsafe UnsafePointer(unsafeMutablePointer)
  }

  /// Creates the collection of a list.
  @inlinable public init(_ p: UnsafeMutablePointer<AudioBufferList>) {
    unsafe unsafeMutablePointer = p
  }

  /// Returns nil for a pointer that is nil.
  @inlinable public init?(_ p: UnsafeMutablePointer<AudioBufferList>?) {
    guard let p = unsafe p else { return nil }
    unsafe self.init(p)
  }

  /// The number of buffers. The memory must have room for those that a larger number adds.
  @inlinable public var count: Int {
    get { unsafe Int(unsafeMutablePointer.pointee.mNumberBuffers) }
    nonmutating set { unsafe unsafeMutablePointer.pointee.mNumberBuffers = UInt32(newValue) }
  }

  @inlinable var first: UnsafeMutablePointer<AudioBuffer> {
    unsafe (UnsafeMutableRawPointer(unsafeMutablePointer) + AudioBufferList.headBytes)
      .assumingMemoryBound(to: AudioBuffer.self)
  }
}

extension UnsafeMutableAudioBufferListPointer: @unsafe MutableCollection,
  @unsafe RandomAccessCollection
{
  /// 0.
  @inlinable public var startIndex: Int { 0 }
  /// The number of buffers.
  @inlinable public var endIndex: Int { unsafe count }

  /// A buffer of the list.
  @inlinable public subscript(index: Int) -> AudioBuffer {
    get { unsafe first[checked(index)] }
    nonmutating set { unsafe first[checked(index)] = newValue }
  }

  @inlinable func checked(_ index: Int) -> Int {
    precondition(
      unsafe index >= 0 && index < count, "no buffer of the list has this index")
    return index
  }

  /// The buffers in order. The standard library's iterator allocates in programs that are not optimised.
  @frozen @unsafe public struct Iterator: @unsafe IteratorProtocol {
    @usableFromInline let list: UnsafeMutableAudioBufferListPointer
    @usableFromInline var index = 0

    @inlinable init(_ list: UnsafeMutableAudioBufferListPointer) { unsafe self.list = list }

    /// Returns the next buffer; nil after the last one.
    @inlinable public mutating func next() -> AudioBuffer? {
      if unsafe index == list.count { return nil }
      defer { unsafe index += 1 }
      return unsafe list.first[index]
    }
  }

  /// Returns the buffers in order.
  @inlinable public func makeIterator() -> Iterator { unsafe Iterator(self) }
}

extension AudioBufferList {
  /// Bytes before the first buffer. The type has one.
  @inlinable static var headBytes: Int {
    unsafe MemoryLayout<Self>.size - MemoryLayout<AudioBuffer>.size
  }

  /// Returns the size in bytes of a list with a number of buffers, at least 1.
  @inlinable public static func sizeInBytes(maximumBuffers: Int) -> Int {
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
  @inlinable public init<Element>(
    _ typedBuffer: UnsafeMutableBufferPointer<Element>, numberOfChannels: Int
  ) {
    unsafe self.init(
      mNumberChannels: UInt32(numberOfChannels),
      mDataByteSize: UInt32(typedBuffer.count * MemoryLayout<Element>.stride),
      mData: UnsafeMutableRawPointer(typedBuffer.baseAddress))
  }

  @inlinable func elements<Element>(_: Element.Type) -> UnsafeMutableBufferPointer<Element> {
    let count = unsafe Int(mDataByteSize) / MemoryLayout<Element>.stride
    return unsafe UnsafeMutableBufferPointer(
      start: mData?.bindMemory(to: Element.self, capacity: count), count: count)
  }
}

extension UnsafeBufferPointer {
  /// Binds the memory of a buffer to whole elements.
  @inlinable public init(_ audioBuffer: AudioBuffer) {
    unsafe self.init(audioBuffer.elements(Element.self))
  }
}

extension UnsafeMutableBufferPointer {
  /// Binds the memory of a buffer to whole elements.
  @inlinable public init(_ audioBuffer: AudioBuffer) {
    unsafe self = audioBuffer.elements(Element.self)
  }
}
