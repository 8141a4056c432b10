import Codecs
import RealTime
import Server

/// Brings a queue's buffers to the device's rate, in slabs that the cycle reads.
///
/// A thread of its own works ahead; a cycle sees no difference to an app's buffer.
@safe
final class Converter: @unchecked Sendable {
  static var slabFrames: Int { 2048 }
  let slabCount = 8

  private let format: PCMFormat
  private let layout: SampleLayout
  private let slabLayout: SampleLayout
  private let resampler: ResamplerChain
  private let channels: Int
  /// `slabCount` slabs, each a plane of `slabFrames` floats for each channel.
  private let slabs: UnsafeMutableBufferPointer<Float>
  /// One slab's worth of the app's frames, as floats.
  private let input: UnsafeMutableBufferPointer<Float>
  private let inputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let outputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>

  // The thread's own.
  private var slab: Int?
  private var filled = 0
  private var offset = 0
  private var generation: UInt64 = 0
  /// Frames for the device's former rate that come before the queue's, a plane for each channel, and
  /// how many frames of the present ones have been taken.
  private var replays: [[Float]] = []
  private var replayOffset = 0
  /// What `holdsBack` is when they have come to their end.
  private var heldBack = false

  /// Nil if there is no converting between these rates.
  convenience init?(_ format: PCMFormat, _ layout: SampleLayout, deviceRate: Double) {
    guard
      let resampler = ResamplerChain(
        from: format.sampleRate, to: deviceRate, channels: format.channels)
    else { return nil }
    self.init(format, layout, resampler)
  }

  /// A converter for another rate of the device, which goes on where a queue stands. The queue's
  /// present converter, if it has one, is not at work, and what was in the ring is not any more.
  ///
  /// What the queue knows to be in the ring waits again; slabs are converted once more. Nil, with the
  /// state as it was, if there is no converting to that rate.
  ///
  /// - Parameter played: Frames that have left of what was first in the ring.
  convenience init?(
    _ format: PCMFormat, _ layout: SampleLayout, deviceRate: Double, played: Int,
    takingOver state: inout QueueState
  ) {
    guard let old = state.converter else {
      self.init(format, layout, deviceRate: deviceRate)
      offset = played
      generation = state.generation
      state.waiting = state.inRing + state.waiting
      state.inRing = []
      state.freeSlabs = Array(0..<slabCount)
      return
    }
    // After a reset the stream begins anew, even if the old one has not seen that.
    let isFresh = old.generation != state.generation
    if isFresh { old.resampler.reset() }
    guard let resampler = ResamplerChain(continuing: old.resampler, to: deviceRate) else {
      return nil
    }
    self.init(format, layout, resampler)
    generation = state.generation
    heldBack = state.replays > 0 ? old.heldBack : state.holdsBack
    var items: [QueueState.Item] = []
    func replay(_ planes: [Float]) {
      if planes.isEmpty { return }
      items.append(.slab(replays.count, frames: planes.count / channels))
      replays.append(planes)
    }
    for (i, item) in state.inRing.enumerated() {
      if case .slab(let slab, let frames) = item {
        replay(old.frames(ofSlab: slab, from: i == 0 ? played : 0, to: frames))
      } else {
        items.append(item)
      }
    }
    if !isFresh {
      if let slab = old.slab { replay(old.frames(ofSlab: slab, from: 0, to: old.filled)) }
      offset = old.offset
    }
    // What was to be converted once more for the rate in between.
    for item in state.waiting.prefix(state.replays) {
      old.slab = old.slab ?? 0
      old.filled = 0
      let work = Work(item: item, source: nil, generation: generation, isReplay: true)
      while true {
        let isDone = old.convert(work)
        replay(old.frames(ofSlab: old.slab ?? 0, from: 0, to: old.filled))
        old.filled = 0
        if isDone { break }
      }
      old.endReplay(item)
      if case .end = item { items.append(item) }
    }
    state.waiting = items + state.waiting.dropFirst(state.replays)
    state.replays = items.count
    state.inRing = []
    state.freeSlabs = Array(0..<slabCount)
  }

  private init(_ format: PCMFormat, _ layout: SampleLayout, _ resampler: ResamplerChain) {
    self.format = format
    self.layout = layout
    self.resampler = resampler
    channels = format.channels
    slabLayout = .float32(channels: channels)
    unsafe slabs = .allocate(capacity: slabCount * channels * Self.slabFrames)
    unsafe slabs.initialize(repeating: 0)
    unsafe input = .allocate(capacity: channels * Self.slabFrames)
    unsafe input.initialize(repeating: 0)
    unsafe inputPlanes = .allocate(capacity: channels)
    unsafe outputPlanes = .allocate(capacity: channels)
    for channel in 0..<channels {
      unsafe (inputPlanes + channel).initialize(
        to: input.baseAddress! + channel * Self.slabFrames)
      unsafe (outputPlanes + channel).initialize(to: slabs.baseAddress!)
    }
    unsafe lockIntoMemory(UnsafeRawBufferPointer(slabs))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(slabs))
    unsafe outputPlanes.deallocate()
    unsafe inputPlanes.deallocate()
    unsafe input.deallocate()
    unsafe slabs.deallocate()
  }

  /// Frames that an end or a flush would bring out of it. The thread that converts.
  var heldFrames: Int { resampler.heldFrames }

  /// A piece of work, and the state of the queue that it belongs to.
  struct Work {
    let item: QueueState.Item
    let source: QueueBuffer?
    let generation: UInt64
    /// It is for the device's former rate, and has been converted for that.
    var isReplay = false
  }

  /// Takes a slab and the next item, if there are both. With the queue's state locked.
  func takeWork(_ state: inout QueueState) -> Work? {
    if state.generation != generation {
      generation = state.generation
      slab = nil
      filled = 0
      offset = 0
      resampler.reset()
    }
    guard state.resets == 0, let item = state.waiting.first,
      state.inRing.count < VoiceMemory.entryCapacity - 2
    else {
      return nil
    }
    if slab == nil {
      guard let free = state.freeSlabs.popLast() else { return nil }
      slab = free
      filled = 0
    }
    state.isConverting = true
    if case .buffer(let piece) = item {
      return Work(item: item, source: state.buffers[piece.id]?.buffer, generation: generation)
    }
    return Work(
      item: item, source: nil, generation: generation, isReplay: state.replays > 0)
  }

  /// A copy of some frames of a slab, a plane for each channel.
  private func frames(ofSlab slab: Int, from first: Int, to end: Int) -> [Float] {
    if first >= end { return [] }
    return (0..<channels).flatMap { channel in
      let plane = unsafe slabs.baseAddress! + (slab * channels + channel) * Self.slabFrames
      return unsafe Array(UnsafeBufferPointer(start: plane + first, count: end - first))
    }
  }

  /// The rest of the replay `index`, in the memory for input.
  ///
  /// - Returns: Its frames.
  private func loadReplay(_ index: Int) -> Int {
    let frames = replays[index].count / channels
    unsafe replays[index].withUnsafeBufferPointer { planes in
      for channel in 0..<channels {
        unsafe inputPlanes[channel].update(
          from: planes.baseAddress! + channel * frames + replayOffset,
          count: frames - replayOffset)
      }
    }
    return frames - replayOffset
  }

  /// A replay has been converted.
  private func endReplay(_ item: QueueState.Item) {
    replayOffset = 0
    if case .slab(let index, _) = item { replays[index] = [] } else { resampler.resetLast() }
  }

  /// Fills the slab from the item until one of them is at its end. Without a lock.
  ///
  /// - Returns: True if the item is done with.
  func convert(_ work: Work) -> Bool {
    guard let slab else { return false }
    let base = unsafe slabs.baseAddress! + slab * channels * Self.slabFrames
    func planes(at frame: Int) {
      for channel in 0..<channels {
        unsafe outputPlanes[channel] = base + channel * Self.slabFrames + frame
      }
    }
    if case .buffer(let piece) = work.item, let source = work.source {
      let frames = piece.frames
      while offset < frames && filled < Self.slabFrames {
        let count = min(frames - offset, Self.slabFrames)
        unsafe layout.copy(
          UnsafeRawPointer(source.data.baseAddress!) + (piece.first + offset)
            * format.bytesPerFrame,
          planeFrames: 0, frames: count, gain: ChannelGain(1), to: inputPlanes, at: 0)
        planes(at: filled)
        let (consumed, produced) = unsafe resampler.process(
          inputPlanes, frames: count, into: outputPlanes, room: Self.slabFrames - filled)
        offset += consumed
        filled += produced
        // A converter that is stuck must not keep the queue from ending.
        if consumed == 0 && produced == 0 { return true }
      }
      return offset == frames
    }
    if case .slab(let index, let frames) = work.item {
      while replayOffset < frames && filled < Self.slabFrames {
        let count = loadReplay(index)
        planes(at: filled)
        let (consumed, produced) = unsafe resampler.processLast(
          inputPlanes, frames: count, into: outputPlanes, room: Self.slabFrames - filled)
        replayOffset += consumed
        filled += produced
        if consumed == 0 && produced == 0 { return true }
      }
      return replayOffset == frames
    }
    while filled < Self.slabFrames {
      planes(at: filled)
      let room = Self.slabFrames - filled
      let (_, produced) =
        work.isReplay
        ? unsafe resampler.processLast(nil, frames: 0, into: outputPlanes, room: room)
        : unsafe resampler.process(nil, frames: 0, into: outputPlanes, room: room)
      if produced == 0 { return true }
      filled += produced
    }
    return false
  }

  /// Hands in what `convert` has done. With the queue's state locked.
  func finish(
    _ work: Work, isDone: Bool, _ state: inout QueueState, push: (borrowing Entry) -> Bool
  ) {
    state.isConverting = false
    // A reset came in between: it has taken every slab and item back.
    guard work.generation == state.generation, let slab else { return }
    if isDone {
      state.waiting.removeFirst()
      if work.isReplay { state.replays -= 1 } else { offset = 0 }
      switch work.item {
      case .buffer(let piece):
        state.holdsBack = true
        state.notices.append(.buffer(piece.id, isReset: false))
      case .slab: state.holdsBack = true
      case .end, .flush: state.holdsBack = work.isReplay && heldBack
      }
    }
    let isEnd =
      switch work.item {
      case .buffer, .slab: false
      case .end, .flush: isDone
      }
    if filled == Self.slabFrames || isEnd || state.waiting.isEmpty, filled > 0 {
      let base = unsafe slabs.baseAddress! + slab * channels * Self.slabFrames
      _ = unsafe push(
        Entry(
          UnsafeRawPointer(base), frames: filled, layout: slabLayout, planeFrames: Self.slabFrames,
          token: UInt32(slab)))
      state.inRing.append(.slab(slab, frames: filled))
      self.slab = nil
    }
    if work.isReplay && isDone { endReplay(work.item) }
    guard isEnd else { return }
    if !work.isReplay { resampler.reset() }
    if case .end = work.item {
      _ = push(.end)
      state.inRing.append(.end)
    }
  }
}

extension OutputQueue {
  /// Runs the converter's thread until the queue has another one or none.
  func startConverting(with converter: Converter) {
    startThread(named: "cuejack-convert") { [weak self, state] in
      while true {
        let work = state.wait { state -> Converter.Work?? in
          if state.converter !== converter || state.disposal == .disposed { return .some(nil) }
          return converter.takeWork(&state).map { .some($0) }
        }
        guard let work, let self else { return }
        let isDone = converter.convert(work)
        let hasNotices = state.change { state in
          converter.finish(work, isDone: isDone, &state) { entry in
            unsafe memory.voice.pointee.entries.push(entry)
          }
          return !state.notices.isEmpty
        }
        if hasNotices { context.wake() }
      }
    }
  }
}
