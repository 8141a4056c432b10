import Codecs
import Server

/// A staging buffer: the converter fills it front to back, and the cycles read what they have been given.
///
/// Whoever has frames of it in the cycles' ring holds it, so that its memory outlives them.
@safe
final class Slab {
  /// Frames that it has room for.
  let capacity: Int
  /// True if it belongs to a converter's pool, which fills it again once it has been played.
  let isPooled: Bool
  private let channels: Int
  private let memory: UnsafeMutableBufferPointer<Float>
  private let places: Planes.Pointers

  /// The most frames of one in a pool: what is converted is heard of no later.
  static var mostPooledFrames: Int { 2048 }
  /// The most frames of one that is made beyond the pool.
  static var mostFrames: Int { 1 << 16 }

  /// Slabs with room for `frames` frames together, and for one frame at least in each.
  static func pool(channels: Int, frames: Int) -> [Slab] {
    let count = max(8, (frames + mostPooledFrames - 1) / mostPooledFrames)
    let frames = max(frames, count)
    return (0..<count).map { i in
      Slab(
        channels: channels, frames: (i + 1) * frames / count - i * frames / count, isPooled: true)
    }
  }

  init(channels: Int, frames: Int, isPooled: Bool) {
    self.channels = channels
    self.isPooled = isPooled
    capacity = frames
    unsafe memory = .allocate(capacity: channels * frames)
    unsafe memory.initialize(repeating: 0)
    unsafe places = .allocate(capacity: channels)
    unsafe places.initialize(repeating: memory.baseAddress!, count: channels)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(memory))
    unsafe places.deallocate()
    unsafe memory.deallocate()
  }

  /// Where a frame stands in each plane, until the next call.
  func pointers(at frame: Int) -> Planes.Pointers {
    for channel in 0..<channels {
      unsafe places[channel] = memory.baseAddress! + channel * capacity + frame
    }
    return unsafe places
  }

  /// Where a frame stands in the first plane; from one plane to the next it is `capacity` frames.
  func address(at frame: Int) -> UnsafeRawPointer {
    unsafe UnsafeRawPointer(memory.baseAddress! + frame)
  }
}
