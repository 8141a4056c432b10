/// A FIFO of frames that grows as needed. One thread at a time.
package final class PlaneQueue {
  private var planes: Planes
  private var head = 0
  package private(set) var count = 0

  package init(channels: Int) { planes = Planes(channels: channels, capacity: 4096) }

  /// Returns where the caller may write `frames` more frames before it calls `add(frames)`.
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

  /// Copies frames to planes and removes them. Returns their number.
  package func take(into planes: Planes.Pointers, room: Int) -> Int {
    let frames = min(room, count)
    let source = unsafe self.planes.pointers(at: head)
    for channel in 0..<self.planes.channels {
      unsafe planes[channel].update(from: source[channel], count: frames)
    }
    drop(frames)
    return frames
  }

  /// Removes the first `frames` frames.
  package func drop(_ frames: Int) {
    count -= frames
    head = count == 0 ? 0 : head + frames
  }

  /// Removes the first `frames` of the last `added` frames.
  func skip(_ frames: Int, of added: Int) {
    guard frames > 0 else { return }
    let first = head + count - added
    let kept = unsafe planes.pointers(at: first + frames)
    unsafe planes.copy(kept, frames: added - frames, to: first)
    count -= frames
  }

  /// Removes the last `frames` frames.
  package func cut(_ frames: Int) { count -= frames }

  package func removeAll() { drop(count) }

  var channels: Int { planes.channels }
}
