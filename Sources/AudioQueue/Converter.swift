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
  private let resampler: Resampler
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

  /// Nil if there is no converting between these rates.
  init?(_ format: PCMFormat, _ layout: SampleLayout, deviceRate: Double) {
    guard
      let resampler = Resampler(
        from: format.sampleRate, to: deviceRate, channels: format.channels)
    else { return nil }
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
    return Work(item: item, source: nil, generation: generation)
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
    while filled < Self.slabFrames {
      planes(at: filled)
      let (_, produced) = unsafe resampler.process(
        nil, frames: 0, into: outputPlanes, room: Self.slabFrames - filled)
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
      offset = 0
      if case .buffer(let piece) = work.item {
        state.holdsBack = true
        state.notices.append(.buffer(piece.id, isReset: false))
      } else {
        state.holdsBack = false
      }
    }
    let isEnd = if case .buffer = work.item { false } else { isDone }
    if filled == Self.slabFrames || isEnd || state.waiting.isEmpty, filled > 0 {
      let base = unsafe slabs.baseAddress! + slab * channels * Self.slabFrames
      _ = unsafe push(
        Entry(
          UnsafeRawPointer(base), frames: filled, layout: slabLayout, planeFrames: Self.slabFrames,
          token: UInt32(slab)))
      state.inRing.append(.slab(slab, frames: filled))
      self.slab = nil
    }
    guard isEnd else { return }
    resampler.reset()
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
