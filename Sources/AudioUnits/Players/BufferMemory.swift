import CRealTime
import RealTime
import System

/// Samples in the memory of a list of buffers.
@safe
final class BufferMemory: @unchecked Sendable {
  let list: UnsafeMutablePointer<cue_buffer_list>
  let format: BusFormat
  /// Frames that there is room for.
  let capacity: Int
  private let memory: UnsafeMutableRawBufferPointer

  init(_ format: BusFormat, capacity: Int) {
    self.format = format
    self.capacity = capacity
    let bytes = capacity * format.bytesPerFrame
    unsafe memory = .allocate(byteCount: bytes * format.buffers, alignment: 64)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
    unsafe list = Self.allocateList(buffers: format.buffers)
    reset(frames: capacity)
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(memory))
    unsafe memory.deallocate()
    unsafe list.deallocate()
  }

  /// Lets the list show the room for a number of frames.
  func reset(frames: Int) {
    let bytes = capacity * format.bytesPerFrame
    let buffers = unsafe cue_rt_buffers(list)
    unsafe list.pointee.count = UInt32(format.buffers)
    for i in 0..<format.buffers {
      unsafe buffers[i].channels = UInt32(format.isInterleaved ? format.channels : 1)
      unsafe buffers[i].bytes = UInt32(frames * format.bytesPerFrame)
      unsafe buffers[i].data = memory.baseAddress! + i * bytes
    }
  }

  /// Allocates an empty list.
  static func allocateList(buffers: Int) -> UnsafeMutablePointer<cue_buffer_list> {
    let bytes =
      unsafe MemoryLayout<cue_buffer_list>.size
      + max(0, buffers - 1) * MemoryLayout<cue_buffer>.stride
    let list = unsafe UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
      .bindMemory(to: cue_buffer_list.self, capacity: 1)
    unsafe list.initialize(to: cue_buffer_list())
    return unsafe list
  }
}
