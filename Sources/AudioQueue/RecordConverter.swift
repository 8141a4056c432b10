import Codecs
import Logging
import RealTime
import Server

/// Brings what was recorded from the device's rate to the queue's: from slabs that the cycle fills to
/// the app's buffers.
///
/// One user at a time: a thread of its own, or a call that ends the run. Whoever has set the state's
/// `isConverting` is it.
@safe
final class RecordConverter: @unchecked Sendable {
  static var slabFrames: Int { 1024 }
  static var slabCount: Int { 32 }

  /// Frames that a cycle has recorded.
  struct Slab {
    let index: Int
    let frames: Int
    /// Device frame of the first, and its position in the run.
    let frame: Int64
    let position: Int64
  }

  private let format: PCMFormat
  private let layout: SampleLayout
  private let slabLayout: SampleLayout
  private let resampler: Resampler
  private let ratio: Double
  private let channels: Int
  /// `slabCount` slabs, each a plane of `slabFrames` floats for each channel.
  private let slabs: UnsafeMutableBufferPointer<Float>
  /// One slab's worth of frames at the queue's rate.
  private let output: UnsafeMutableBufferPointer<Float>
  private let inputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let outputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>

  /// Frames of the slab in hand that have been taken.
  private var offset = 0
  /// The position that would go on where the last slab ended; nil at first.
  private var nextPosition: Int64?
  /// Frame, at the queue's rate, that comes out next.
  private var outputFrame: Int64 = 0
  /// Frames in the app's buffer in hand, and the first of them.
  private var filled = 0
  private var filledFrame: Int64 = 0
  /// Device time at some position, to tell that of others.
  private var anchor: (frame: Int64, position: Int64) = (0, 0)

  /// Nil if there is no converting between these rates.
  init?(_ format: PCMFormat, _ layout: SampleLayout, deviceRate: Double) {
    guard
      let resampler = Resampler(
        from: deviceRate, to: format.sampleRate, channels: format.channels)
    else { return nil }
    self.format = format
    self.layout = layout
    self.resampler = resampler
    ratio = format.sampleRate / deviceRate
    channels = format.channels
    slabLayout = .float32(channels: channels)
    unsafe slabs = .allocate(capacity: Self.slabCount * channels * Self.slabFrames)
    unsafe slabs.initialize(repeating: 0)
    unsafe output = .allocate(capacity: channels * Self.slabFrames)
    unsafe output.initialize(repeating: 0)
    unsafe inputPlanes = .allocate(capacity: channels)
    unsafe outputPlanes = .allocate(capacity: channels)
    for channel in 0..<channels {
      unsafe (inputPlanes + channel).initialize(to: slabs.baseAddress!)
      unsafe (outputPlanes + channel).initialize(
        to: output.baseAddress! + channel * Self.slabFrames)
    }
    unsafe lockIntoMemory(UnsafeRawBufferPointer(slabs))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(slabs))
    unsafe outputPlanes.deallocate()
    unsafe inputPlanes.deallocate()
    unsafe output.deallocate()
    unsafe slabs.deallocate()
  }

  /// A slab for the cycle to fill.
  func space(_ index: Int) -> Space {
    unsafe Space(
      slabs.baseAddress! + index * channels * Self.slabFrames, frames: Self.slabFrames,
      layout: slabLayout, planeFrames: Self.slabFrames, token: UInt32(index))
  }

  /// A slab, or nil for what the converter holds back, and where it goes.
  struct Work {
    let slab: Slab?
    let buffer: QueueBuffer
  }

  /// What a piece of work has come to.
  struct Outcome {
    /// The slab has been taken whole; or there is nothing held back any more.
    var isUsedUp = false
    /// The buffer is full, or what follows does not belong to it: the frames it holds.
    var recording: Recorded?
  }
  struct Recorded {
    let frames: Int
    /// Frame at the queue's rate.
    let startFrame: Int64
    let deviceFrame: Int64
  }

  /// The next piece of work, if there is a slab and a buffer for it. With the queue's state locked.
  func work(_ state: RecordState) -> Work? {
    guard let slab = state.slabs.first, let id = state.waiting.first,
      let buffer = state.buffers[id]?.buffer
    else { return nil }
    return Work(slab: slab, buffer: buffer)
  }

  /// Fills the buffer until it or the slab is at its end. Without a lock.
  func convert(_ work: Work) -> Outcome {
    guard let slab = work.slab else {
      let isUsedUp = drain(into: work.buffer)
      return Outcome(isUsedUp: isUsedUp, recording: isFull(work.buffer) ? takeFilled() : nil)
    }
    if offset == 0, let nextPosition, nextPosition != slab.position {
      // There is a hole. What was before it ends here, and its last buffer with it.
      guard drain(into: work.buffer) else { return Outcome(recording: takeFilled()) }
      restart()
      if filled > 0 { return Outcome(recording: takeFilled()) }
    }
    if nextPosition == nil {
      outputFrame = Int64((Double(slab.position) * ratio).rounded())
      nextPosition = slab.position
    }
    if offset == 0 { anchor = (slab.frame, slab.position) }
    let base = unsafe slabs.baseAddress! + slab.index * channels * Self.slabFrames
    while offset < slab.frames, !isFull(work.buffer) {
      for channel in 0..<channels {
        unsafe inputPlanes[channel] = base + channel * Self.slabFrames + offset
      }
      let (consumed, produced) = unsafe resample(
        inputPlanes, frames: slab.frames - offset, into: outputPlanes, room: room(work.buffer))
      offset += consumed
      store(produced, in: work.buffer)
      // A converter that is stuck must not keep the queue from ending.
      if consumed == 0 && produced == 0 { offset = slab.frames }
    }
    var outcome = Outcome()
    if offset == slab.frames {
      outcome.isUsedUp = true
      offset = 0
      nextPosition = slab.position + Int64(slab.frames)
    }
    if isFull(work.buffer) { outcome.recording = takeFilled() }
    return outcome
  }

  /// Runs the resampler. One that fails gives nothing.
  private func resample(
    _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>>, room: Int
  ) -> (consumed: Int, produced: Int) {
    do throws(Resampler.Failure) {
      return try unsafe resampler.process(input, frames: frames, into: output, room: room)
    } catch {
      log.error("converter: \(error.reason)")
      return (0, 0)
    }
  }

  /// Has the converter give out what it holds back.
  ///
  /// - Returns: True if that is all of it; else the buffer is full.
  private func drain(into buffer: QueueBuffer) -> Bool {
    while !isFull(buffer) {
      let (_, produced) = unsafe resample(
        nil, frames: 0, into: outputPlanes, room: room(buffer))
      if produced == 0 { return true }
      store(produced, in: buffer)
    }
    return false
  }

  /// Forgets what the converter holds back.
  ///
  /// - Returns: The frames that were.
  func dropRest() -> Int {
    var frames = 0
    while true {
      let (_, produced) = unsafe resample(
        nil, frames: 0, into: outputPlanes, room: Self.slabFrames)
      if produced == 0 { return frames }
      frames += produced
    }
  }

  private func capacity(_ buffer: QueueBuffer) -> Int { buffer.capacity / format.bytesPerFrame }
  private func isFull(_ buffer: QueueBuffer) -> Bool { filled == capacity(buffer) }
  private func room(_ buffer: QueueBuffer) -> Int {
    min(capacity(buffer) - filled, Self.slabFrames)
  }

  private func store(_ frames: Int, in buffer: QueueBuffer) {
    if filled == 0 { filledFrame = outputFrame }
    unsafe layout.store(
      from: outputPlanes, at: 0, frames: frames,
      to: buffer.data.baseAddress! + filled * format.bytesPerFrame, planeFrames: 0)
    filled += frames
    outputFrame += Int64(frames)
  }

  /// What the buffer in hand holds; the next one begins. Nil if that is nothing.
  func takeFilled() -> Recorded? {
    guard filled > 0 else { return nil }
    defer { filled = 0 }
    let position = Double(filledFrame) / ratio
    return Recorded(
      frames: filled, startFrame: filledFrame,
      deviceFrame: anchor.frame + Int64((position - Double(anchor.position)).rounded()))
  }

  /// Forgets what it holds back: the next slab's first frame is a first one.
  func restart() {
    resampler.reset()
    nextPosition = nil
    offset = 0
  }
}

extension InputQueue {
  /// Runs the converter's thread until the queue has another one or none.
  func startConverting(with converter: RecordConverter) {
    startThread(named: "cuejack-convert") { [weak self, state] in
      while true {
        let work = state.wait { state -> RecordConverter.Work?? in
          if state.converter !== converter || state.disposal == .disposed { return .some(nil) }
          guard !state.isConverting, let work = converter.work(state) else { return nil }
          state.isConverting = true
          return .some(work)
        }
        guard let work else { return }
        guard let self else {
          state.change { $0.isConverting = false }
          return
        }
        let outcome = converter.convert(work)
        let hasNotices = state.change { state in
          if outcome.isUsedUp, let slab = work.slab {
            state.slabs.removeFirst()
            _ = unsafe memory.recorder.pointee.spaces.push(converter.space(slab.index))
          }
          if let recorded = outcome.recording { finishBuffer(&state, recorded) }
          state.isConverting = false
          return !state.notices.isEmpty
        }
        if hasNotices { context.wake() }
      }
    }
  }

  /// Hands the buffer in hand to the app.
  private func finishBuffer(
    _ state: inout RecordState, _ recorded: RecordConverter.Recorded, isReset: Bool = false
  ) {
    give(
      &state, state.waiting.removeFirst(), frames: recorded.frames,
      startFrame: recorded.startFrame, deviceFrame: recorded.deviceFrame, isReset: isReset)
  }

  /// Converts all that is left, as far as there are buffers, on the calling thread, which has claimed the
  /// converter and keeps every cycle from the slabs.
  func convertRest(with converter: RecordConverter, isReset: Bool) {
    while let work = state.read({ converter.work($0) }) {
      let outcome = converter.convert(work)
      state.change { state in
        if outcome.isUsedUp { state.slabs.removeFirst() }
        if let recorded = outcome.recording { finishBuffer(&state, recorded, isReset: isReset) }
      }
    }
    var isUsedUp = false
    while !isUsedUp {
      let buffer = state.read { state in state.waiting.first.flatMap { state.buffers[$0]?.buffer } }
      guard let buffer else { break }
      let outcome = converter.convert(RecordConverter.Work(slab: nil, buffer: buffer))
      isUsedUp = outcome.isUsedUp
      state.change { state in
        if let recorded = outcome.recording { finishBuffer(&state, recorded, isReset: isReset) }
      }
    }
    let isLost = !isUsedUp && converter.dropRest() > 0
    state.change { state in
      if isLost || !state.slabs.isEmpty { ranOut(&state) }
      state.slabs = []
      if let recorded = converter.takeFilled() { finishBuffer(&state, recorded, isReset: isReset) }
      pushSlabs(of: converter)
    }
    converter.restart()
  }

  /// Has the cycle fill all slabs anew. None may be in the ring.
  func pushSlabs(of converter: RecordConverter) {
    for index in 0..<RecordConverter.slabCount {
      _ = unsafe memory.recorder.pointee.spaces.push(converter.space(index))
    }
  }
}
