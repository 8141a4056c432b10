/// Floats of several channels, one plane for each. One thread at a time.
@safe
package final class Planes {
  package typealias Pointers = UnsafeMutablePointer<UnsafeMutablePointer<Float>>

  package let channels: Int
  /// Frames that each plane has room for.
  package let capacity: Int
  private let memory: UnsafeMutableBufferPointer<Float>
  private let places: Pointers

  /// Planes of silence.
  package init(channels: Int, capacity: Int) {
    self.channels = channels
    self.capacity = capacity
    unsafe memory = .allocate(capacity: max(1, channels * capacity))
    unsafe memory.initialize(repeating: 0)
    unsafe places = .allocate(capacity: channels)
    for channel in 0..<channels {
      unsafe (places + channel).initialize(to: memory.baseAddress! + channel * capacity)
    }
  }

  deinit {
    unsafe places.deallocate()
    unsafe memory.deallocate()
  }

  /// Where `frame` stands in each plane, until the next call.
  package func pointers(at frame: Int = 0) -> Pointers {
    for channel in 0..<channels {
      unsafe places[channel] = memory.baseAddress! + channel * capacity + frame
    }
    return unsafe places
  }

  /// Copies frames from elsewhere; the places may overlap.
  package func copy(_ source: Pointers, frames: Int, to frame: Int = 0) {
    for channel in 0..<channels {
      unsafe (memory.baseAddress! + channel * capacity + frame)
        .update(from: source[channel], count: frames)
    }
  }

  /// Puts frames after all others; as many of the first ones go.
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
  /// Planes of somebody else's that are read from their first frame on.
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

/// Frames that wait, first in, first out: it grows as it must. One thread at a time.
package final class PlaneQueue {
  private var planes: Planes
  private var head = 0
  package private(set) var count = 0

  package init(channels: Int) { planes = Planes(channels: channels, capacity: 4096) }

  /// Where `frames` more can be written, before `add(frames)`.
  package func room(for frames: Int) -> Planes.Pointers {
    if head + count + frames > planes.capacity {
      let isWide = 2 * (count + frames) > planes.capacity
      let wider = Planes(
        channels: planes.channels,
        capacity: isWide ? 2 * (count + frames) : planes.capacity)
      unsafe wider.copy(planes.pointers(at: head), frames: count)
      planes = wider
      head = 0
    }
    return unsafe planes.pointers(at: head + count)
  }

  package func add(_ frames: Int) { count += frames }

  func append(_ source: Planes.Pointers, frames: Int) {
    _ = unsafe room(for: frames)
    unsafe planes.copy(source, frames: frames, to: head + count)
    count += frames
  }

  /// Takes frames out.
  package func take(into planes: Planes.Pointers, room: Int) -> Int {
    let frames = min(room, count)
    let source = unsafe self.planes.pointers(at: head)
    for channel in 0..<self.planes.channels {
      unsafe planes[channel].update(from: source[channel], count: frames)
    }
    drop(frames)
    return frames
  }

  /// Forgets the first `frames` frames.
  package func drop(_ frames: Int) {
    count -= frames
    head = count == 0 ? 0 : head + frames
  }

  /// Forgets the first `frames` of the last `added` frames.
  func skip(_ frames: Int, of added: Int) {
    guard frames > 0 else { return }
    let first = head + count - added
    let kept = unsafe planes.pointers(at: first + frames)
    unsafe planes.copy(kept, frames: added - frames, to: first)
    count -= frames
  }

  /// Forgets the last `frames` frames.
  package func cut(_ frames: Int) { count -= frames }

  package func removeAll() { drop(count) }

  var channels: Int { planes.channels }
}
