import CRealTime

/// Two nodes of a graph: one plays a signal from a device frame on, and the other one keeps what comes back, from that
/// frame on. One thread that is not real time.
@safe
package final class SignalLoop: @unchecked Sendable {
  private let loop: UnsafeMutablePointer<cue_loop>
  private let signal: UnsafeMutablePointer<Float>

  /// - Parameter frames: The most frames to keep.
  package init(_ signal: [Float], frames: Int) {
    unsafe self.signal = .allocate(capacity: signal.count)
    unsafe self.signal.initialize(from: signal, count: signal.count)
    let heard = UnsafeMutablePointer<Float>.allocate(capacity: frames)
    unsafe heard.initialize(repeating: 0, count: frames)
    unsafe loop = .allocate(capacity: 1)
    unsafe loop.initialize(
      to: cue_loop(
        signal: self.signal, signal_frames: Int64(signal.count), heard: heard,
        capacity: Int64(frames), start: .max, heard_frames: 0))
  }

  deinit {
    unsafe loop.pointee.heard.deallocate()
    unsafe loop.deallocate()
    unsafe signal.deallocate()
  }

  /// Creates the nodes: one with an output, and one with an input. The graph keeps the memory as long as it runs them.
  package var nodes: (player: CallbackNode, listener: CallbackNode) {
    let play = unsafe cue_node(
      run: { context, block in unsafe cue_rt_play_loop(context, block) }, context: loop,
      prefetched_bytes: 0)
    let hear = unsafe cue_node(
      run: { context, block in unsafe cue_rt_hear_loop(context, block) }, context: loop,
      prefetched_bytes: 0)
    return unsafe (
      CallbackNode(named: "signal", outputs: 1, play, keeping: self),
      CallbackNode(named: "loop", inputs: 1, outputs: 0, runsUnheard: true, hear, keeping: self)
    )
  }

  /// Plays the signal from a device frame on. Call once.
  package func start(at frame: Int64) { unsafe cue_start_loop(loop, frame) }

  /// Whether all frames are kept.
  package var isOver: Bool { unsafe cue_loop_heard(loop) >= loop.pointee.capacity }

  /// The samples from the signal's first frame on. Those of cycles that were left out are 0.
  package var heard: [Float] {
    unsafe Array(
      UnsafeBufferPointer(start: loop.pointee.heard, count: Int(loop.pointee.capacity)))
  }
}
