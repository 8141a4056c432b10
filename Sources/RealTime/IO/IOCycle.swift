package import CRealTime
import Synchronization
import Timeline

/// Calls I/O functions in the cycles of a graph, each time with the same number of frames, whatever the
/// server's period is.
///
/// It collects frames that come in until there are enough for a call, and plays what the calls return.
/// If calls and blocks differ in length, the output begins with silence of the smallest length with
/// which it never runs dry: the call's length minus the greatest common divisor of both. The outputs of
/// several functions are added.
///
/// Owns no memory and has a fixed address.
@safe
package struct IOCycle: ~Copyable {
  /// Largest number of frames of a call.
  package static var mostCallFrames: Int { @_noLocks get { 4096 } }
  /// Frames that each buffer has memory for: a call, twice its length ahead, and the longest block.
  package static var mostStoredFrames: Int { 3 * 4096 + 8192 }

  private let list: Atomic<UnsafeMutableRawPointer?>
  private let begun = Atomic<UInt64>(0)
  private let ended = Atomic<UInt64>(0)
  private let thread = Atomic<UInt>(0)
  private let callFrames: Atomic<Int>
  private let delay = Atomic<Int>(0)
  private let wantedGain = Atomic<UInt32>(Float(1).bitPattern)
  private let inputLatency = Atomic<Int>(0)
  private let outputLatency = Atomic<Int>(0)
  private let sampleRate: Atomic<UInt64>
  package let inputs: Int
  package let outputs: Int
  private let buffers: UnsafeMutablePointer<IOBuffers>

  /// - Parameters:
  ///   - inputs: Channels of the input.
  ///   - outputs: Channels of the output.
  ///   - callFrames: Frames of each call, at most `mostCallFrames`.
  ///   - buffers: Memory for the process thread, which the caller owns.
  package init(
    inputs: Int, outputs: Int, callFrames: Int, sampleRate: Double,
    buffers: UnsafeMutablePointer<IOBuffers>
  ) {
    unsafe list = Atomic(nil)
    self.inputs = inputs
    self.outputs = outputs
    self.callFrames = Atomic(callFrames)
    self.sampleRate = Atomic(sampleRate.bitPattern)
    unsafe self.buffers = buffers
  }

  // MARK: Control side

  /// Replaces the list of functions, effective with the next block. One control thread at a time.
  package func swap(_ list: UnsafeMutablePointer<IOList>?) {
    unsafe self.list.store(UnsafeMutableRawPointer(list), ordering: .sequentiallyConsistent)
  }

  /// Number of blocks that have begun, for `areOver`.
  package var blocksBegun: UInt64 { begun.load(ordering: .sequentiallyConsistent) }

  /// Returns true once the first `count` blocks are over. Every later block sees what was stopped or
  /// replaced before `count` was read.
  package func areOver(_ count: UInt64) -> Bool {
    ended.load(ordering: .sequentiallyConsistent) >= count
  }

  /// True on the thread that calls the functions, during a block.
  package var isInside: Bool {
    thread.load(ordering: .relaxed) == UInt(cue_rt_thread()) && !areOver(blocksBegun)
  }

  /// Sets the frames of each call.
  package func setCallFrames(_ frames: Int) { callFrames.store(frames, ordering: .relaxed) }

  /// Sets the gain of the output. It changes within one block, in a straight line.
  package func setGain(_ gain: Float) { wantedGain.store(gain.bitPattern, ordering: .relaxed) }

  /// Sets the sound card's latencies in frames, and the sample rate in Hz, for the times of a call.
  package func setLatencies(input: Int, output: Int, sampleRate: Double) {
    inputLatency.store(input, ordering: .relaxed)
    outputLatency.store(output, ordering: .relaxed)
    self.sampleRate.store(sampleRate.bitPattern, ordering: .relaxed)
  }

  /// Frames that the output is behind the input because calls and blocks differ in length.
  package var delayFrames: Int { delay.load(ordering: .relaxed) }

  /// Returns that delay for calls of `call` frames in cycles of `period` frames.
  package static func delay(call: Int, period: Int) -> Int { call - divisor(call, period) }

  // MARK: Process thread

  /// Runs one block of a graph.
  @_noLocks package borrowing func run(_ block: cue_block) {
    let number = begun.add(1, ordering: .sequentiallyConsistent).newValue
    thread.store(UInt(cue_rt_thread()), ordering: .relaxed)
    let frames = unsafe Int(block.frames)
    let list = unsafe self.list.load(ordering: .sequentiallyConsistent)
    if let list = unsafe list, unsafe isAnyOn(list.assumingMemoryBound(to: IOList.self)) {
      arrange(frames)
      unsafe takeInput(block, frames)
      let functions = unsafe list.assumingMemoryBound(to: IOList.self).pointee
      unsafe call(functions, block)
      unsafe giveOutput(block, frames)
      for i in 0..<functions.count { unsafe functions.slots[i].pointee.noteDrain(frames) }
    } else {
      unsafe buffers.pointee.callFrames = 0
      for channel in 0..<outputs {
        unsafe block.outputs![channel].initialize(repeating: 0, count: frames)
      }
    }
    ended.store(number, ordering: .releasing)
  }

  @_noLocks private func isAnyOn(_ list: UnsafeMutablePointer<IOList>) -> Bool {
    for i in unsafe 0..<list.pointee.count {
      let slot = unsafe list.pointee.slots[i]
      if unsafe slot.pointee.isRunning || slot.pointee.isDraining { return true }
    }
    return false
  }

  /// Prepares the buffers for calls and blocks of the present lengths.
  @_noLocks private borrowing func arrange(_ blockFrames: Int) {
    let call = callFrames.load(ordering: .relaxed)
    let state = unsafe buffers
    if unsafe state.pointee.callFrames == call && state.pointee.blockFrames == blockFrames {
      return
    }
    if unsafe state.pointee.callFrames == 0 {
      unsafe state.pointee.inputFrames = 0
      unsafe state.pointee.outputFrames = 0
      unsafe state.pointee.gain = Float(bitPattern: wantedGain.load(ordering: .relaxed))
    }
    unsafe state.pointee.callFrames = call
    unsafe state.pointee.blockFrames = blockFrames
    let divisor = Self.divisor(call, blockFrames)
    let stored = unsafe state.pointee.inputFrames &+ state.pointee.outputFrames
    let needed = unsafe call &- divisor &+ state.pointee.inputFrames % divisor
    let missing = max(0, needed &- stored)
    unsafe (state.pointee.output + state.pointee.outputFrames &* outputs).initialize(
      repeating: 0, count: missing &* outputs)
    unsafe state.pointee.outputFrames &+= missing
    delay.store(stored &+ missing, ordering: .relaxed)
  }

  /// Appends the block's input, interleaved.
  @_noLocks private borrowing func takeInput(_ block: cue_block, _ frames: Int) {
    let state = unsafe buffers
    let destination = unsafe state.pointee.input + state.pointee.inputFrames &* inputs
    for channel in 0..<inputs {
      let source = unsafe block.inputs![channel]
      for frame in 0..<frames {
        unsafe destination[frame &* inputs &+ channel] = source[frame]
      }
    }
    unsafe state.pointee.inputFrames &+= frames
  }

  /// Calls the functions as often as there are frames for.
  @_noLocks private borrowing func call(_ list: IOList, _ block: cue_block) {
    let state = unsafe buffers
    let frames = unsafe state.pointee.callFrames
    var read = 0
    var io = unsafe cue_io()
    unsafe io.frames = UInt32(frames)
    unsafe io.now_frame = block.frame
    unsafe io.now_time = block.host_time
    let rate = Double(bitPattern: sampleRate.load(ordering: .relaxed))
    let measured = unsafe block.nanoseconds_per_frame
    let frameTime = measured > 0 ? measured : 1e9 / max(rate, 1)
    unsafe io.rate_scalar = block.nanoseconds_per_frame * rate / 1e9
    unsafe io.nanoseconds_per_frame = block.nanoseconds_per_frame
    unsafe io.allowed_time =
      block.is_freewheeling
      ? .max : UInt64(held: Double(min(frames, Int(block.frames))) * frameTime)
    unsafe io.transport = block.transport
    // All of the input came in before the cycle, whatever the server says.
    let inputLatency = unsafe max(
      Int64(inputLatency.load(ordering: .relaxed)), Int64(block.frames))
    let outputLatency = Int64(outputLatency.load(ordering: .relaxed))
    // The newest frame that came in is the block's last one.
    let inputFrame =
      unsafe block.frame &+ Int64(block.frames) &- Int64(state.pointee.inputFrames)
    while unsafe state.pointee.inputFrames &- read >= frames {
      unsafe io.input_frame = inputFrame &+ Int64(read)
      unsafe io.output_frame = block.frame &+ Int64(state.pointee.outputFrames)
      unsafe io.input_time = time(of: io.input_frame &- inputLatency, block)
      unsafe io.output_time = time(of: io.output_frame &+ outputLatency, block)
      let output = unsafe state.pointee.output + state.pointee.outputFrames &* outputs
      unsafe output.initialize(repeating: 0, count: frames &* outputs)
      let input = unsafe UnsafePointer(state.pointee.input + read &* inputs)
      unsafe callAll(list, &io, input: input, output: output)
      unsafe state.pointee.outputFrames &+= frames
      read &+= frames
    }
    unsafe state.pointee.inputFrames &-= read
    unsafe UnsafeMutableRawPointer(state.pointee.input).copyMemory(
      from: state.pointee.input + read &* inputs,
      byteCount: state.pointee.inputFrames &* inputs &* 4)
  }

  /// Calls each function once, unless it is stopped and has no tail, and adds their outputs.
  @_noLocks private borrowing func callAll(
    _ list: IOList, _ io: inout cue_io, input: UnsafePointer<Float>,
    output: UnsafeMutablePointer<Float>
  ) {
    let samples = unsafe Int(io.frames) &* outputs
    var isFirst = true
    for i in 0..<list.count {
      let slot = unsafe list.slots[i]
      guard unsafe slot.pointee.isDue else { continue }
      let reads = unsafe slot.pointee.usesInput && inputs > 0
      let writes = unsafe slot.pointee.usesOutput && outputs > 0
      let destination = unsafe isFirst ? output : buffers.pointee.scratch
      if writes && !isFirst { unsafe destination.initialize(repeating: 0, count: samples) }
      unsafe io.input = reads ? input : nil
      unsafe io.input_channels = reads ? UInt32(inputs) : 0
      unsafe io.output = writes ? destination : nil
      unsafe io.output_channels = writes ? UInt32(outputs) : 0
      unsafe io.slot = UnsafeRawPointer(slot)
      unsafe cue_rt_run_io(slot.pointee.function, &io)
      unsafe slot.pointee.noteTail(Int(io.frames))
      guard writes else { continue }
      if !isFirst { for i in 0..<samples { unsafe output[i] += destination[i] } }
      isFirst = false
    }
    let rendered = unsafe buffers.pointee.outputFrames &+ Int(io.frames)
    for i in 0..<list.count { unsafe list.slots[i].pointee.beginDrain(rendered: rendered) }
  }

  /// Returns the host time of a device frame; 0 if the block has none.
  @_noLocks private func time(of frame: Int64, _ block: cue_block) -> UInt64 {
    if unsafe block.host_time == 0 { return 0 }
    let distance = unsafe Double(frame &- block.frame) * block.nanoseconds_per_frame
    return unsafe UInt64(held: Double(block.host_time) + distance)
  }

  /// Writes the oldest frames of the output to the block's planes, with the gain.
  @_noLocks private borrowing func giveOutput(_ block: cue_block, _ frames: Int) {
    let state = unsafe buffers
    let from = unsafe state.pointee.gain
    let to = Float(bitPattern: wantedGain.load(ordering: .relaxed))
    for channel in 0..<outputs {
      let source = unsafe state.pointee.output + channel
      let plane = unsafe block.outputs![channel]
      for frame in 0..<frames { unsafe plane[frame] = source[frame &* outputs] }
      if from != 1 || to != 1 { unsafe scale(plane, frames, from: from, to: to) }
    }
    unsafe state.pointee.gain = to
    unsafe state.pointee.outputFrames &-= frames
    unsafe UnsafeMutableRawPointer(state.pointee.output).copyMemory(
      from: state.pointee.output + frames &* outputs,
      byteCount: state.pointee.outputFrames &* outputs &* 4)
  }

  /// Returns the greatest common divisor.
  @_noLocks private static func divisor(_ a: Int, _ b: Int) -> Int {
    var (a, b) = (a, b)
    while b > 0 { (a, b) = (b, a % b) }
    return max(a, 1)
  }
}

/// The process function of a graph's node: `context` is an `IOCycle`. Process thread.
@_noLocks package func runIOCycle(
  _ context: UnsafeMutableRawPointer, _ block: UnsafePointer<cue_block>
) {
  unsafe context.assumingMemoryBound(to: IOCycle.self).pointee.run(block.pointee)
}
