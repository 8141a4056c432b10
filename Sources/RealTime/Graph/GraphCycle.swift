package import CRealTime
import Synchronization
import Timeline

/// Runs a graph's running order in each cycle.
///
/// Owns no memory and has a fixed address. The control thread replaces the whole order and frees
/// the old one once `areOver(_:)` reports that no cycle can still read it.
@safe
package struct GraphCycle: ~Copyable {
  private let order: Atomic<UnsafeMutableRawPointer?>
  private let begun = Atomic<UInt64>(0)
  private let ended = Atomic<UInt64>(0)
  private let held = Atomic<Bool>(false)
  private let freewheels = Atomic<Bool>(false)
  private let latestFrame = Atomic<Int64>(.min)
  private let ran = Atomic<Int64>(0)
  private let faded = Atomic<UInt64>(0)
  private let fadedFrom = Atomic<Int64>(.min)
  private let wantsAttention = Atomic<Bool>(false)
  private let types: cue_event_types
  /// Flag that nodes set to ask for attention. Process thread only.
  private let attention: UnsafeMutablePointer<Bool>
  /// Transport state. Process thread only.
  private let course: UnsafeMutablePointer<cue_transport_course>
  /// The threads that help the process thread; nil if there are none.
  private let helpers: UnsafeMutablePointer<GraphHelpers>?
  /// The faders; nil if there are none. Set before cycles run.
  package var mix: UnsafeMutablePointer<GraphMix>?

  /// Creates a graph without an order, in memory that the caller owns.
  package init(
    types: cue_event_types, attention: UnsafeMutablePointer<Bool>,
    course: UnsafeMutablePointer<cue_transport_course>,
    helpers: UnsafeMutablePointer<GraphHelpers>? = nil
  ) {
    unsafe order = Atomic(nil)
    self.types = types
    unsafe self.attention = attention
    unsafe self.course = course
    unsafe self.helpers = helpers
  }

  // MARK: Control side

  /// Replaces the running order, effective with the next cycle. Call from one control thread at a
  /// time.
  package func swap(_ order: UnsafeMutablePointer<GraphOrder>) {
    unsafe self.order.store(UnsafeMutableRawPointer(order), ordering: .sequentiallyConsistent)
  }
  /// Excludes the nodes from cycles that begin from now on: the ports get silence.
  package func hold() { held.store(true, ordering: .sequentiallyConsistent) }
  /// Ends `hold()`: later cycles run the nodes again.
  package func release() { held.store(false, ordering: .sequentiallyConsistent) }
  /// Sets whether the server freewheels, so that a cycle may wait for nodes. Any thread.
  @_noLocks package func setFreewheeling(_ on: Bool) { freewheels.store(on, ordering: .relaxed) }

  /// Number of cycles that have begun, for `areOver`.
  package var cyclesBegun: UInt64 { begun.load(ordering: .sequentiallyConsistent) }
  /// Returns true once the first `count` cycles are over.
  package func areOver(_ count: UInt64) -> Bool {
    ended.load(ordering: .sequentiallyConsistent) >= count
  }
  /// Counts a cycle that started but never returned as finished. Precondition: no cycle is running.
  package func rebase() {
    ended.store(cyclesBegun, ordering: .sequentiallyConsistent)
    latestFrame.store(.min, ordering: .relaxed)
  }
  /// Frames for which cycles have run the nodes.
  package var framesRun: Int64 { ran.load(ordering: .relaxed) }
  /// Number of the latest order whose fade is over.
  package var fadedOrder: UInt64 { faded.load(ordering: .acquiring) }
  /// Device frame at which the fade of that order began; nil if there was none.
  package var fadeStart: Int64? {
    let frame = fadedFrom.load(ordering: .acquiring)
    return frame == .min ? nil : frame
  }
  /// Returns true if a node has asked for attention since the last call.
  package func takeAttention() -> Bool {
    wantsAttention.exchange(false, ordering: .acquiringAndReleasing)
  }

  // MARK: Process thread

  /// Longest cycle, in frames, in which nodes run; it is JACK's own limit. Sources have memory for
  /// as many frames. Longer cycles are silent.
  package static var longestCycle: Int { @_noLocks get { 8192 } }

  /// Runs every node for a cycle of `frames` frames that begins at device frame `frame`. The
  /// sources are already filled.
  ///
  /// Ignores a repeated cycle: the ports hold it already.
  ///
  /// - Parameters:
  ///   - transport: Transport state at the first frame; nil if unknown.
  ///   - microseconds: Host time at the first frame; 0 if unknown.
  ///   - nextMicroseconds: Host time at the next cycle's first frame; 0 if unknown.
  ///   - isMute: True to run no node and write silence to the ports.
  /// - Returns: True if the control side has something to do: a fade has ended, or a node asks for
  ///   attention.
  @_noLocks package borrowing func cycle(
    frames: Int, at frame: Int64, transport: cue_transport? = nil, microseconds: UInt64 = 0,
    nextMicroseconds: UInt64 = 0, isMute: Bool = false
  ) -> Bool {
    let number = begun.add(1, ordering: .sequentiallyConsistent).newValue
    var happened = false
    if let order = unsafe order.load(ordering: .sequentiallyConsistent), frames > 0 {
      let order = unsafe order.assumingMemoryBound(to: GraphOrder.self)
      if isMute || held.load(ordering: .sequentiallyConsistent) || frames > Self.longestCycle {
        for i in unsafe 0..<order.pointee.stepCount {
          unsafe order.pointee.steps[i].slot.pointee.silencePorts(frames)
          unsafe order.pointee.steps[i].slot.pointee.clearPorts(min(frames, Self.longestCycle))
        }
      } else if latestFrame.load(ordering: .relaxed) != frame {
        latestFrame.store(frame, ordering: .relaxed)
        var block = unsafe cue_block()
        unsafe block.frame = frame
        unsafe block.host_time = microseconds &* 1000
        if nextMicroseconds > microseconds {
          unsafe block.nanoseconds_per_frame =
            Double(nextMicroseconds &- microseconds) * 1000 / Double(frames)
        }
        happened = unsafe run(order, frames, block, transport)
        ran.add(Int64(frames), ordering: .relaxed)
      }
    }
    ended.store(number, ordering: .releasing)
    return happened
  }

  @_noLocks private borrowing func run(
    _ order: UnsafeMutablePointer<GraphOrder>, _ frames: Int, _ cycle: cue_block,
    _ transport: cue_transport?
  ) -> Bool {
    let stepCount = unsafe order.pointee.stepCount
    let blockFrames = unsafe order.pointee.blockFrames
    var block = unsafe cycle
    unsafe block.is_freewheeling = freewheels.load(ordering: .relaxed)
    unsafe block.attention = attention
    if var transport {
      unsafe block.transport = cue_rt_follow_transport(course, &transport, UInt32(frames))
    }
    if let mix = unsafe mix { unsafe mix.pointee.begin(at: cycle.frame) }
    if unsafe order.pointee.beganAt == .min {
      unsafe order.pointee.beganAt = cycle.frame
    }
    var at = 0
    while at < frames {
      let count = min(blockFrames, frames &- at)
      unsafe block.frames = UInt32(count)
      unsafe block.frame = cycle.frame &+ Int64(at)
      if unsafe cycle.host_time > 0 {
        unsafe block.host_time =
          cycle.host_time &+ UInt64(held: Double(at) * cycle.nanoseconds_per_frame)
      }
      if let helpers = unsafe helpers, let groups = unsafe order.pointee.groups {
        unsafe run(0, order.pointee.firstGrouped, order, &block, at: at, cycle: frames)
        unsafe run(groups, helpers, order, &block, at: at, cycle: frames)
        unsafe run(order.pointee.endOfGroups, stepCount, order, &block, at: at, cycle: frames)
      } else {
        unsafe run(0, stepCount, order, &block, at: at, cycle: frames)
      }
      at &+= count
      unsafe block.transport = nil
      unsafe order.pointee.hasBegun = true
      if unsafe order.pointee.isFading { unsafe order.pointee.passed &+= count }
    }
    if unsafe order.pointee.clearsPorts {
      for i in 0..<stepCount {
        unsafe order.pointee.steps[i].slot.pointee.clearPorts(frames)
      }
    }
    var happened = false
    if unsafe order.pointee.fades && !order.pointee.isFading && !order.pointee.hasTold {
      unsafe order.pointee.hasTold = true
      unsafe fadedFrom.store(
        order.pointee.beganAt &+ Int64(order.pointee.fillFrames), ordering: .relaxed)
      unsafe faded.store(order.pointee.number, ordering: .releasing)
      happened = true
    }
    if unsafe attention.pointee {
      unsafe attention.pointee = false
      wantsAttention.store(true, ordering: .releasing)
      happened = true
    }
    return happened
  }

  /// Runs the steps from index `begin` to the one before `end` for the block that begins at frame `first` of a
  /// cycle.
  @_noLocks private borrowing func run(
    _ begin: Int, _ end: Int, _ order: UnsafeMutablePointer<GraphOrder>, _ block: inout cue_block,
    at first: Int, cycle: Int
  ) {
    unsafe run(begin, end, order, &block, at: first, cycle: cycle, order.pointee.scratch)
  }

  /// - Parameter scratch: Memory of the thread for a block.
  @_noLocks private borrowing func run(
    _ begin: Int, _ end: Int, _ order: UnsafeMutablePointer<GraphOrder>, _ block: inout cue_block,
    at first: Int, cycle: Int, _ scratch: UnsafeMutablePointer<Float>
  ) {
    let steps = unsafe order.pointee.steps
    var i = begin
    while i < end {
      // Other programs have used the caches since the last cycle: prefetch the next slots while this one runs.
      if i &+ 2 < end { unsafe steps[i &+ 2].slot.pointee.prefetch() }
      if i &+ 1 < end { unsafe steps[i &+ 1].slot.pointee.prefetchNode() }
      unsafe run(steps + i, order, &block, at: first, cycle: cycle, scratch)
      i &+= 1
    }
  }

  // MARK: Groups

  /// Runs the grouped steps, with helpers if that is faster.
  @_noLocks private borrowing func run(
    _ groups: UnsafeMutablePointer<GraphGroups>, _ helpers: UnsafeMutablePointer<GraphHelpers>,
    _ order: UnsafeMutablePointer<GraphOrder>, _ block: inout cue_block, at first: Int, cycle: Int
  ) {
    let begin = cue_rt_nanoseconds()
    let pace = unsafe helpers.pointee.pace
    guard unsafe pace.pointee.usesHelpers else {
      unsafe run(
        order.pointee.firstGrouped, order.pointee.endOfGroups, order, &block, at: first,
        cycle: cycle)
      unsafe pace.pointee.ranAlone(cue_rt_nanoseconds() &- begin)
      return
    }
    unsafe helpers.pointee.publish(
      GraphJob(order: order, block: block, first: first, cycle: cycle), groups.pointee)
    unsafe runGroups(helpers, thread: 0)
    var turns = 0
    while unsafe groups.pointee.finished.load(ordering: .acquiring) < groups.pointee.count,
      unsafe !isAbandoned(order)
    {
      unsafe pause(&turns, block)
    }
    if unsafe helpers.pointee.takeAttention() { unsafe attention.pointee = true }
    unsafe pace.pointee.ranShared(
      cue_rt_nanoseconds() &- begin, work: helpers.pointee.workDone())
  }

  /// Runs groups of the present block until all are claimed. The helper `thread`, counted from 1.
  @_noLocks package borrowing func help(thread: Int) {
    guard let helpers = unsafe helpers else { return }
    cue_rt_enter()
    unsafe runGroups(helpers, thread: thread)
    cue_rt_leave()
  }

  @_noLocks private borrowing func runGroups(
    _ helpers: UnsafeMutablePointer<GraphHelpers>, thread: Int
  ) {
    while let (index, job) = unsafe helpers.pointee.claim() {
      guard let groups = unsafe job.order.pointee.groups else { return }
      let group = unsafe groups.pointee.groups + index
      var turns = 0
      while unsafe group.pointee.missing.load(ordering: .acquiring) > 0,
        unsafe !isAbandoned(job.order)
      {
        unsafe pause(&turns, job.block)
      }
      let begin = cue_rt_nanoseconds()
      var block = unsafe job.block
      unsafe block.attention = helpers.pointee.attentions + thread
      unsafe run(
        group.pointee.first, group.pointee.end, job.order, &block, at: job.first, cycle: job.cycle,
        groups.pointee.scratch + thread &* groups.pointee.scratchStride)
      unsafe helpers.pointee.count(cue_rt_nanoseconds() &- begin)
      for i in unsafe 0..<group.pointee.readerCount {
        let reader = unsafe groups.pointee.groups + group.pointee.readers[i]
        unsafe reader.pointee.missing.subtract(1, ordering: .acquiringAndReleasing)
      }
      unsafe groups.pointee.finished.add(1, ordering: .acquiringAndReleasing)
    }
  }

  /// One turn of a loop that waits for another thread. Offline that thread may have no processor.
  @_noLocks private borrowing func pause(_ turns: inout Int, _ block: cue_block) {
    turns &+= 1
    if unsafe block.is_freewheeling, turns > 1000 {
      cue_freewheel_yield()
    } else {
      cue_rt_pause()
    }
  }

  /// Whether the control side has given up a cycle that runs `order`, so that it runs no node any more.
  @_noLocks private borrowing func isAbandoned(_ order: UnsafeMutablePointer<GraphOrder>) -> Bool {
    unsafe order.pointee.steps[0].slot.pointee.isAbandoned.load(ordering: .acquiring)
  }

  // MARK: Steps

  /// Runs one slot for the block that begins at frame `first` of a cycle.
  @_noLocks private borrowing func run(
    _ step: UnsafeMutablePointer<GraphStep>, _ order: UnsafeMutablePointer<GraphOrder>,
    _ block: inout cue_block, at first: Int, cycle: Int, _ scratch: UnsafeMutablePointer<Float>
  ) {
    let slot = unsafe step.pointee.slot
    let frames = unsafe Int(block.frames)
    let blockFrames = unsafe order.pointee.blockFrames
    switch unsafe slot.pointee.kind {
    case .source:
      unsafe slot.pointee.findPorts(
        slot.pointee.outputs, at: first, step: blockFrames, cycle: cycle)
      unsafe slot.pointee.readMIDI(at: first, frames: frames, cycle: cycle, types)
      return
    case .sink:
      unsafe slot.pointee.findPorts(slot.pointee.inputs, at: first, step: blockFrames, cycle: cycle)
    case .node, .mixer: break
    }
    let inputs = unsafe slot.pointee.inputs
    for i in 0..<inputs {
      let input = unsafe step.pointee.inputs[i]
      if case .sink = unsafe slot.pointee.kind {
        unsafe sum(
          order.pointee.edges + input.first, input.count, into: slot.pointee.sum(i), block, order,
          scratch)
      } else if let source = unsafe input.plainSource {
        unsafe slot.pointee.setInput(i, source.pointee)
      } else {
        unsafe sum(
          order.pointee.edges + input.first, input.count, into: slot.pointee.sum(i), block, order,
          scratch)
        unsafe slot.pointee.setInput(i, slot.pointee.sum(i))
      }
    }
    unsafe block.controllers = nil
    if unsafe slot.pointee.eventInputs > 0 || step.pointee.controllers != nil {
      unsafe mergeEvents(step, order, &block)
    }
    switch unsafe slot.pointee.kind {
    case .node: unsafe slot.pointee.run(&block, to: step.pointee.outputs, types)
    case .sink: unsafe slot.pointee.writeMIDI(at: first, frames: frames, cycle: cycle, types)
    case .source, .mixer: break
    }
  }

  /// Merges the events of a slot's inputs, and of the MIDI controllers that move its node's controls.
  @inline(never)
  @_noLocks private borrowing func mergeEvents(
    _ step: UnsafeMutablePointer<GraphStep>, _ order: UnsafeMutablePointer<GraphOrder>,
    _ block: inout cue_block
  ) {
    let slot = unsafe step.pointee.slot
    let frames = unsafe Int(block.frames)
    let inputs = unsafe step.pointee.inputs + slot.pointee.inputs
    for i in unsafe 0..<slot.pointee.eventInputs {
      let input = unsafe inputs[i]
      unsafe slot.pointee.mergeEvents(
        into: slot.pointee.eventInput(i), order.pointee.eventEdges + input.first,
        count: input.count, frames: frames,
        endsNotes: input.endsNotes && !order.pointee.hasBegun, types)
    }
    if let controllers = unsafe step.pointee.controllers {
      let input = unsafe inputs[slot.pointee.eventInputs]
      unsafe slot.pointee.mergeEvents(
        into: controllers, order.pointee.eventEdges + input.first, count: input.count,
        frames: frames, endsNotes: false, types)
      unsafe block.controllers = UnsafeRawPointer(controllers)
    }
  }

  /// Writes the sum of `count` edges to `plane`.
  @inline(never)
  @_noLocks private borrowing func sum(
    _ edges: UnsafeMutablePointer<GraphEdge>, _ count: Int,
    into plane: UnsafeMutablePointer<Float>, _ block: cue_block,
    _ order: UnsafeMutablePointer<GraphOrder>, _ scratch: UnsafeMutablePointer<Float>
  ) {
    let frames = unsafe Int(block.frames)
    var isFirst = true
    for i in 0..<count {
      var edge = unsafe edges[i]
      var source = unsafe edge.source.pointee
      if let delay = unsafe edge.delay {
        unsafe delay.pointee.pass(source, to: scratch, frames)
        unsafe source = scratch
      }
      if let fader = unsafe edge.fader {
        if let gain = unsafe fader.pointee.constant(
          from: block.frame, over: frames, arrival: edge.arrival)
        {
          edge.from *= gain
          edge.to *= gain
        } else {
          unsafe fader.pointee.pass(
            source, to: scratch, frames, from: block.frame, arrival: edge.arrival)
          unsafe source = scratch
        }
      }
      let from = unsafe order.pointee.isFading ? edge.from : edge.to
      if from == edge.to {
        if from == 0 { continue }
        if isFirst {
          if from == 1 {
            unsafe copy(source, to: plane, frames)
          } else {
            for frame in 0..<frames { unsafe plane[frame] = source[frame] * from }
          }
        } else {
          for frame in 0..<frames { unsafe plane[frame] += source[frame] * from }
        }
      } else {
        if isFirst { unsafe plane.initialize(repeating: 0, count: frames) }
        let order = unsafe order.pointee
        for frame in 0..<frames {
          unsafe plane[frame] += source[frame] * order.gain(edge, at: frame)
        }
      }
      isFirst = false
    }
    if isFirst { unsafe plane.initialize(repeating: 0, count: frames) }
  }
}
