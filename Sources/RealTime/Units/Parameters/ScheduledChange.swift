import Synchronization

/// A change of a parameter at a frame of a render.
@safe
package struct ScheduledChange: BitwiseCopyable, @unchecked Sendable {
  package let slot: UnsafeMutablePointer<UnitParameterSlot>
  /// First frame of the change, counted from the render's first. That of a ramp may lie before it.
  package let start: Int
  /// Frames of a ramp; 0 for a change at once.
  package let frames: Int
  package let from: Float
  package let to: Float

  @_noLocks package init(
    _ slot: UnsafeMutablePointer<UnitParameterSlot>, start: Int, frames: Int, from: Float, to: Float
  ) {
    unsafe self.slot = slot
    self.start = start
    self.frames = frames
    self.from = from
    self.to = to
  }

  /// Returns the value at a frame that is not before the first one.
  @_noLocks func value(at frame: Int) -> Float {
    let done = frame &- start
    if done >= frames { return to }
    return from + (to - from) * Float(done) / Float(frames)
  }
}

extension UnitSetup {
  /// The number of scheduled changes of this render.
  var changeCount: Int { @_noLocks get { unsafe cache.pointee.changeCount } }

  /// Returns true if scheduled changes concern parameters.
  ///
  /// - Parameters:
  ///   - slots: The first of the parameters, and `count` their number.
  ///   - frame: Only changes that have begun by then count.
  @_noLocks func hasChanges(
    of slots: UnsafeMutablePointer<UnitParameterSlot>, count: Int, by frame: Int = .max
  ) -> Bool {
    for i in 0..<changeCount {
      let change = unsafe changes[i]
      if change.start <= frame, unsafe change.slot >= slots && change.slot < slots + count {
        return true
      }
    }
    return false
  }

  /// Returns the first frame after `frame` at which a scheduled change begins or ends, `frames` at most.
  @_noLocks func nextChange(after frame: Int, frames: Int) -> Int {
    var next = frames
    for i in 0..<changeCount {
      let change = unsafe changes[i]
      if change.start > frame {
        next = min(next, change.start)
      } else if change.start &+ change.frames > frame {
        next = min(next, change.start &+ change.frames)
      }
    }
    return next
  }

  /// Gives parameters the values that the scheduled changes up to a frame ask for.
  ///
  /// - Parameters:
  ///   - isEnd: True if those that begin with the frame do not count.
  ///   - slots: The first of the parameters, and `count` their number; nil for all.
  @_noLocks func applyChanges(
    at frame: Int, isEnd: Bool, to slots: UnsafeMutablePointer<UnitParameterSlot>? = nil,
    count: Int = 0
  ) {
    for i in 0..<changeCount {
      let change = unsafe changes[i]
      if change.start > frame || change.start == frame && isEnd { continue }
      if let slots = unsafe slots, unsafe change.slot < slots || change.slot >= slots + count {
        continue
      }
      unsafe change.slot.pointee.set(change.value(at: frame))
    }
  }
}
