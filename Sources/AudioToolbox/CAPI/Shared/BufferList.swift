import CAudioToolbox

/// A view of an AudioBufferList that is owned elsewhere.
@safe
struct BufferList {
  private let list: UnsafeMutableBufferPointer<AudioBuffer>

  init(_ list: UnsafeMutablePointer<AudioBufferList>) {
    let offset = unsafe MemoryLayout<AudioBufferList>.offset(of: \.mBuffers)!
    let first = unsafe (UnsafeMutableRawPointer(list) + offset).assumingMemoryBound(
      to: AudioBuffer.self)
    unsafe self.list = UnsafeMutableBufferPointer(
      start: first, count: Int(list.pointee.mNumberBuffers))
  }

  var count: Int { unsafe list.count }

  /// The size of the smallest buffer in bytes.
  var leastBytes: Int { unsafe list.lazy.map { unsafe Int($0.mDataByteSize) }.min() ?? 0 }

  /// False if the data pointer of a buffer is NULL.
  var hasData: Bool { unsafe list.allSatisfy { unsafe $0.mData != nil } }

  /// The data pointers of the buffers; nil if one of them is NULL.
  var pointers: [UnsafeMutableRawPointer]? {
    let pointers = unsafe list.compactMap { unsafe $0.mData }
    return unsafe pointers.count == list.count ? pointers : nil
  }

  /// Returns the data pointer of a buffer; nil if it is NULL.
  func pointer(_ index: Int) -> UnsafeMutableRawPointer? { unsafe list[index].mData }

  /// Sets the data pointers of all buffers to one address.
  func setPointers(_ pointer: UnsafeMutableRawPointer) {
    for index in unsafe list.indices { unsafe list[index].mData = pointer }
  }

  func setBytes(_ bytes: Int) {
    for index in unsafe list.indices { unsafe list[index].mDataByteSize = UInt32(bytes) }
  }
}
