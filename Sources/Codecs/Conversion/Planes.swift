/// Float samples of several channels, one plane per channel. One thread at a time.
@safe
package final class Planes {
  package typealias Pointers = UnsafeMutablePointer<UnsafeMutablePointer<Float>>

  package let channels: Int
  /// Capacity of each plane in frames.
  package let capacity: Int
  private let memory: UnsafeMutableBufferPointer<Float>
  private let channelPointers: Pointers

  /// Creates planes filled with silence.
  package init(channels: Int, capacity: Int) {
    self.channels = channels
    self.capacity = capacity
    unsafe memory = .allocate(capacity: max(1, channels * capacity))
    unsafe memory.initialize(repeating: 0)
    unsafe channelPointers = .allocate(capacity: channels)
    for channel in 0..<channels {
      unsafe (channelPointers + channel).initialize(to: memory.baseAddress! + channel * capacity)
    }
  }

  deinit {
    unsafe channelPointers.deallocate()
    unsafe memory.deallocate()
  }

  /// Returns pointers to `frame` in each plane. They are valid until the next call.
  package func pointers(at frame: Int = 0) -> Pointers {
    for channel in 0..<channels {
      unsafe channelPointers[channel] = memory.baseAddress! + channel * capacity + frame
    }
    return unsafe channelPointers
  }

  /// Copies frames from other planes; the memory may overlap.
  package func copy(_ source: Pointers, frames: Int, to frame: Int = 0) {
    for channel in 0..<channels {
      unsafe (memory.baseAddress! + channel * capacity + frame)
        .update(from: source[channel], count: frames)
    }
  }

  /// Appends frames at the end; as many frames are dropped at the start.
  func shiftIn(_ source: Pointers, frames: Int) {
    let new = min(frames, capacity)
    let latest = unsafe Advancing(source, channels: channels)
    latest.advance(frames - new)
    unsafe copy(pointers(at: new), frames: capacity - new)
    unsafe copy(latest.pointers, frames: new, to: capacity - new)
  }

  package func silence(from first: Int, to end: Int) {
    guard first < end else { return }
    for channel in 0..<channels {
      unsafe (memory.baseAddress! + channel * capacity + first)
        .update(repeating: 0, count: end - first)
    }
  }
}

extension Planes {
  /// A read position in planes that the caller owns.
  @safe
  package final class Advancing {
    package let pointers: Pointers
    private let channels: Int

    package init(_ planes: Pointers, channels: Int) {
      self.channels = channels
      unsafe pointers = .allocate(capacity: channels)
      unsafe pointers.initialize(from: planes, count: channels)
    }

    deinit { unsafe pointers.deallocate() }

    package func advance(_ frames: Int) {
      for channel in 0..<channels { unsafe pointers[channel] += frames }
    }
  }
}
