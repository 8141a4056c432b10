import Codecs
import Server
import System

/// A staging buffer: the converter fills it front to back, and the process thread reads the frames
/// that were pushed into the ring.
///
/// Every item in the ring holds a reference to its staging buffer, so the memory outlives its use.
@safe
final class StagingBuffer {
  /// Capacity in frames.
  let capacity: Int
  /// True if the buffer belongs to a converter's pool and is refilled once it has been played. Others may be longer than
  /// what is to be converted ahead.
  let isPooled: Bool
  private let channels: Int
  private let memory: UnsafeMutableBufferPointer<Float>
  private let channelPointers: Planes.Pointers

  /// The maximum length of a pooled buffer in frames. It limits how many frames wait before
  /// they are pushed into the ring.
  static var mostPooledFrames: Int { 2048 }
  /// The maximum length in frames of a buffer beyond the pool.
  static var mostFrames: Int { 1 << 16 }

  init(channels: Int, frames: Int, isPooled: Bool) {
    self.channels = channels
    self.isPooled = isPooled
    capacity = frames
    unsafe memory = .allocate(capacity: channels * frames)
    unsafe memory.initialize(repeating: 0)
    unsafe channelPointers = .allocate(capacity: channels)
    unsafe channelPointers.initialize(repeating: memory.baseAddress!, count: channels)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(memory))
    unsafe channelPointers.deallocate()
    unsafe memory.deallocate()
  }

  /// Returns the address of a frame in each plane. The result is valid until the next call.
  func pointers(at frame: Int) -> Planes.Pointers {
    for channel in 0..<channels {
      unsafe channelPointers[channel] = memory.baseAddress! + channel * capacity + frame
    }
    return unsafe channelPointers
  }

  /// Returns the address of a frame in the first plane. The planes are `capacity` frames apart.
  func address(at frame: Int) -> UnsafeRawPointer {
    unsafe UnsafeRawPointer(memory.baseAddress! + frame)
  }
}
