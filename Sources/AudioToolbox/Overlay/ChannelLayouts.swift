public import CAudioToolbox
import Glibc

// Channel layouts in Swift, with the names of Apple's Core Audio module.

extension AudioChannelLayout {
  fileprivate static var headBytes: Int { MemoryLayout<Self>.offset(of: \.mChannelDescriptions)! }

  /// Returns the size in bytes of a layout with a number of descriptions.
  public static func sizeInBytes(maximumDescriptions: Int) -> Int {
    precondition(maximumDescriptions >= 0, "a number of descriptions is not negative")
    return max(
      MemoryLayout<Self>.size,
      headBytes + maximumDescriptions * MemoryLayout<AudioChannelDescription>.stride)
  }

  /// Allocates a layout of channel descriptions, which are all zero. The caller frees it with `free`.
  public static func allocate(maximumDescriptions: Int) -> UnsafeMutablePointer {
    let memory = unsafe calloc(1, sizeInBytes(maximumDescriptions: maximumDescriptions))!
    let layout = unsafe UnsafeMutablePointer(
      memory.bindMemory(to: AudioChannelLayout.self, capacity: 1))
    unsafe layout.count = maximumDescriptions
    return unsafe layout
  }

  /// A pointer to an `AudioChannelLayout`, as a collection of its descriptions. The creator owns the memory.
  @unsafe public struct UnsafeMutablePointer {
    /// The layout.
    public var unsafeMutablePointer: Swift.UnsafeMutablePointer<AudioChannelLayout>

    /// The layout, for functions that only read it.
    public var unsafePointer: Swift.UnsafePointer<AudioChannelLayout> {
      unsafe Swift.UnsafePointer(unsafeMutablePointer)
    }

    /// Creates the collection of a layout.
    public init(_ p: Swift.UnsafeMutablePointer<AudioChannelLayout>) {
      unsafe unsafeMutablePointer = p
    }

    /// Returns nil for a pointer that is nil.
    public init?(_ p: Swift.UnsafeMutablePointer<AudioChannelLayout>?) {
      guard let p = unsafe p else { return nil }
      unsafe self.init(p)
    }

    /// The number of descriptions. The memory must have room for those that a larger number adds.
    public var count: Int {
      get { unsafe Int(unsafeMutablePointer.pointee.mNumberChannelDescriptions) }
      nonmutating set {
        unsafe unsafeMutablePointer.pointee.mNumberChannelDescriptions = UInt32(newValue)
      }
    }
  }
}

extension AudioChannelLayout.UnsafeMutablePointer: @unsafe MutableCollection,
  @unsafe RandomAccessCollection
{
  /// 0.
  public var startIndex: Int { 0 }
  /// The number of descriptions.
  public var endIndex: Int { unsafe count }

  /// A description of the layout.
  public subscript(index: Int) -> AudioChannelDescription {
    get { unsafe description(index).pointee }
    nonmutating set { unsafe description(index).pointee = newValue }
  }

  private func description(_ index: Int) -> Swift.UnsafeMutablePointer<AudioChannelDescription> {
    precondition(unsafe indices.contains(index), "no description of the layout has this index")
    return unsafe (UnsafeMutableRawPointer(unsafeMutablePointer) + AudioChannelLayout.headBytes)
      .assumingMemoryBound(to: AudioChannelDescription.self) + index
  }
}
