package import CRealTime
import Synchronization

/// An I/O function with its state, at a fixed address.
@safe
package struct IOSlot: ~Copyable {
  let function: cue_io_function
  private let keepsSound: Bool
  private let isOn = Atomic<Bool>(false)
  private let readsInput = Atomic<Bool>(true)
  private let writesOutput = Atomic<Bool>(true)
  /// Frames of output that are to be played after a stop inside a call; `isBeingStopped` until that call has returned.
  private let drainFrames = Atomic<Int>(0)
  /// Frames that the function, which keeps sound back, has to render after such a stop.
  private let tailFrames = Atomic<Int>(0)
  private static var isBeingStopped: Int { @_noLocks get { -1 } }

  /// - Parameter keepsSound: Whether the function has a tail to render after a stop: `addTail` says how long.
  package init(_ function: cue_io_function, keepsSound: Bool = false) {
    unsafe self.function = unsafe function
    self.keepsSound = keepsSound
  }

  /// True while cycles call the function. Any thread.
  package var isRunning: Bool {
    @_noLocks get { isOn.load(ordering: .sequentiallyConsistent) }
  }

  /// Lets cycles call the function, or not. A call may still be in progress: see `IOCycle.areOver`.
  ///
  /// - Returns: True if that is a change.
  @discardableResult
  package func setRunning(_ on: Bool) -> Bool {
    isOn.exchange(on, ordering: .sequentiallyConsistent) != on
  }

  // MARK: Draining: what the function gave before it was stopped inside a call is played to its end.

  /// True until the output is played. Any thread.
  package var isDraining: Bool {
    @_noLocks get { drainFrames.load(ordering: .sequentiallyConsistent) != 0 }
  }

  /// Lets cycles play the output of the call in progress, and what comes before it. Call before `setRunning`.
  package func drain() {
    drainFrames.store(Self.isBeingStopped, ordering: .sequentiallyConsistent)
  }

  /// Ends `drain()`: the rest is not played.
  package func endDrain() {
    tailFrames.store(0, ordering: .sequentiallyConsistent)
    drainFrames.store(0, ordering: .sequentiallyConsistent)
  }

  /// Whether a function that was stopped has a tail to render. Process thread.
  var hasTail: Bool { @_noLocks get { tailFrames.load(ordering: .relaxed) > 0 } }

  /// Lets the next calls render `frames` frames that the function has kept back, if it is stopped inside the
  /// present call. Process thread.
  @_noLocks func addTail(_ frames: Int) {
    if drainFrames.load(ordering: .relaxed) == Self.isBeingStopped {
      tailFrames.store(frames, ordering: .relaxed)
    }
  }

  /// Whether a call is due: of a function that runs, or that has not rendered its tail. Process thread.
  var isDue: Bool {
    @_noLocks get {
      isRunning || hasTail
        || keepsSound && drainFrames.load(ordering: .relaxed) == Self.isBeingStopped
    }
  }

  /// Notes that the function was called for `frames` frames, if that was after the call in which it was stopped.
  /// Process thread.
  @_noLocks func noteTail(_ frames: Int) {
    let tail = tailFrames.load(ordering: .relaxed)
    if tail > 0 && drainFrames.load(ordering: .relaxed) != Self.isBeingStopped {
      tailFrames.store(max(0, tail &- frames), ordering: .relaxed)
    }
  }

  /// Notes that a stopped function's last sound ends after `frames` rendered frames and its tail. Process thread.
  @_noLocks func beginDrain(rendered frames: Int) {
    _ = drainFrames.compareExchange(
      expected: Self.isBeingStopped, desired: frames &+ tailFrames.load(ordering: .relaxed),
      ordering: .sequentiallyConsistent)
  }

  /// Notes that cycles have played `frames` frames. Process thread.
  @_noLocks func noteDrain(_ frames: Int) {
    let left = drainFrames.load(ordering: .relaxed)
    if left <= 0 { return }
    _ = drainFrames.compareExchange(
      expected: left, desired: max(0, left &- frames), ordering: .sequentiallyConsistent)
  }

  /// Whether the function gets the inputs' samples, and whether its output is heard. Any thread.
  package var usesInput: Bool { @_noLocks get { readsInput.load(ordering: .relaxed) } }
  package var usesOutput: Bool { @_noLocks get { writesOutput.load(ordering: .relaxed) } }
  package func setUse(input: Bool, output: Bool) {
    readsInput.store(input, ordering: .relaxed)
    writesOutput.store(output, ordering: .relaxed)
  }
}
