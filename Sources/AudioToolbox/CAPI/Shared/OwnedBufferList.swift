import CAudioToolbox

/// An AudioBufferList that this object owns.
@safe
final class OwnedBufferList {
  let list: UnsafeMutablePointer<AudioBufferList>
  private let buffers: Int
  private let channels: Int

  init(buffers: Int, channelsPerBuffer: Int) {
    self.buffers = buffers
    channels = channelsPerBuffer
    let bytes =
      unsafe MemoryLayout<AudioBufferList>.size + (buffers - 1) * MemoryLayout<AudioBuffer>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: bytes, alignment: MemoryLayout<AudioBufferList>.alignment)
    unsafe list = memory.bindMemory(to: AudioBufferList.self, capacity: 1)
    clear()
  }

  deinit { unsafe UnsafeMutableRawPointer(list).deallocate() }

  /// Sets the data pointers of all buffers to NULL and their sizes to 0.
  func clear() {
    let offset = unsafe MemoryLayout<AudioBufferList>.offset(of: \.mBuffers)!
    unsafe list.pointee.mNumberBuffers = UInt32(buffers)
    let first = unsafe (UnsafeMutableRawPointer(list) + offset).assumingMemoryBound(
      to: AudioBuffer.self)
    for index in 0..<buffers {
      unsafe (first + index).initialize(
        to: AudioBuffer(mNumberChannels: UInt32(channels), mDataByteSize: 0, mData: nil))
    }
  }
}
