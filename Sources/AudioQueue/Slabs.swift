import Codecs
import Server

/// Memory that the cycles read converted frames from, in pieces that are filled and given back one by
/// one.
@safe
final class Slabs {
  /// How many there are.
  let count: Int
  private let frames: Int
  private let channels: Int
  private let memory: UnsafeMutableBufferPointer<Float>
  private let places: Planes.Pointers

  /// The most frames of one slab: what is converted is heard of no later.
  private static var mostFrames: Int { 2048 }

  /// Slabs with room for `frames` frames together.
  init(channels: Int, frames: Int) {
    self.channels = channels
    self.frames = frames
    count = max(8, (frames + Self.mostFrames - 1) / Self.mostFrames)
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

  /// The first frame of a slab among those of all.
  private func first(_ slab: Int) -> Int { slab * frames / count }

  /// Frames that a slab has room for.
  func capacity(_ slab: Int) -> Int { first(slab + 1) - first(slab) }

  /// Frames from one channel's to the next one's.
  var planeFrames: Int { frames }

  /// Where a frame of a slab stands in each plane, until the next call.
  func pointers(_ slab: Int, at frame: Int) -> Planes.Pointers {
    for channel in 0..<channels {
      unsafe places[channel] = memory.baseAddress! + channel * frames + first(slab) + frame
    }
    return unsafe places
  }

  /// Where a frame of a slab stands in the first plane.
  func address(_ slab: Int, at frame: Int) -> UnsafeRawPointer {
    unsafe UnsafeRawPointer(memory.baseAddress! + first(slab) + frame)
  }
}
