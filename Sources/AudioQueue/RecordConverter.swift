import Codecs
import Logging
import RealTime
import Server

/// Brings what was recorded from slabs that the cycle fills to the app's buffers: at the queue's rate, and
/// as packets if that is what they take.
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

  private let sink: any RecordSink
  private let slabLayout: SampleLayout
  /// Nil if the device has the queue's rate.
  private let resampler: Resampler?
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
  /// Device time at some position, to tell that of others.
  private var anchor: (frame: Int64, position: Int64) = (0, 0)

  /// A converter into a sink; nil if there is no converting between these rates.
  init?(_ format: PCMFormat, _ sink: any RecordSink, deviceRate: Double) {
    if format.sampleRate == deviceRate {
      resampler = nil
    } else {
      resampler = Resampler(from: deviceRate, to: format.sampleRate, channels: format.channels)
      if resampler == nil { return nil }
    }
    self.sink = sink
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

  /// What there is to be done, and where it goes.
  struct Work {
    enum Part {
      case slab(Slab)
      /// What is held back of what was recorded at this rate; a hole follows.
      case hole
      /// All that is held back: nothing follows.
      case end
    }
    let part: Part
    let buffer: QueueBuffer
  }

  /// What a piece of work has come to.
  struct Outcome {
    /// The part is done with.
    var isUsedUp = false
    /// The buffer is full, or what follows does not belong to it: the frames it holds.
    var recording: Recorded?
  }

  /// The next piece of work, if there is a slab and a buffer for it. With the queue's state locked.
  func work(_ state: RecordState) -> Work? {
    guard let slab = state.slabs.first, let id = state.waiting.first,
      let buffer = state.buffers[id]?.buffer
    else { return nil }
    return Work(part: .slab(slab), buffer: buffer)
  }

  /// Fills the buffer until it or the slab is at its end. Without a lock.
  func convert(_ work: Work) -> Outcome {
    let slab: Slab
    switch work.part {
    case .slab(let part): slab = part
    case .hole:
      guard drain(into: work.buffer) else { return Outcome(recording: sink.takeFilled()) }
      restartResampler()
      return Outcome(isUsedUp: true, recording: sink.takeFilled())
    case .end:
      let isUsedUp = drain(into: work.buffer) && sink.finish(into: work.buffer)
      return Outcome(
        isUsedUp: isUsedUp, recording: sink.isFull(work.buffer) ? sink.takeFilled() : nil)
    }
    if offset == 0, let nextPosition, nextPosition != slab.position {
      // There is a hole. What the resampler holds back was before it.
      guard drain(into: work.buffer) else { return Outcome(recording: sink.takeFilled()) }
      restartResampler()
    }
    if nextPosition == nil {
      let frame = Int64((Double(slab.position) * ratio).rounded())
      if let recorded = sink.begin(at: frame) { return Outcome(recording: recorded) }
      nextPosition = slab.position
    }
    if offset == 0 { anchor = (slab.frame, slab.position) }
    let base = unsafe slabs.baseAddress! + slab.index * channels * Self.slabFrames
    while offset < slab.frames, !sink.isFull(work.buffer) {
      for channel in 0..<channels {
        unsafe inputPlanes[channel] = base + channel * Self.slabFrames + offset
      }
      let left = slab.frames - offset
      guard let resampler else {
        let count = min(left, sink.room(work.buffer))
        unsafe sink.put(inputPlanes, frames: count, into: work.buffer)
        offset += count
        continue
      }
      let (consumed, produced) = unsafe resample(
        resampler, inputPlanes, frames: left, into: work.buffer)
      offset += consumed
      // A converter that is stuck must not keep the queue from ending.
      if consumed == 0 && produced == 0 { offset = slab.frames }
    }
    var outcome = Outcome()
    if offset == slab.frames {
      outcome.isUsedUp = true
      offset = 0
      nextPosition = slab.position + Int64(slab.frames)
    }
    if sink.isFull(work.buffer) { outcome.recording = sink.takeFilled() }
    return outcome
  }

  /// Runs the resampler, into the buffer. One that fails gives nothing.
  private func resample(
    _ resampler: Resampler, _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames: Int,
    into buffer: QueueBuffer
  ) -> (consumed: Int, produced: Int) {
    let room = min(sink.room(buffer), Self.slabFrames)
    let (consumed, produced) = unsafe resample(resampler, input, frames: frames, room: room)
    if produced > 0 { unsafe sink.put(outputPlanes, frames: produced, into: buffer) }
    return (consumed, produced)
  }

  private func resample(
    _ resampler: Resampler, _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames: Int,
    room: Int
  ) -> (consumed: Int, produced: Int) {
    do throws(Resampler.Failure) {
      return try unsafe resampler.process(input, frames: frames, into: outputPlanes, room: room)
    } catch {
      log.error("converter: \(error.reason)")
      return (0, 0)
    }
  }

  /// Has the resampler give out what it holds back.
  ///
  /// - Returns: True if that is all of it; else the buffer is full.
  private func drain(into buffer: QueueBuffer) -> Bool {
    guard let resampler else { return true }
    while !sink.isFull(buffer) {
      if unsafe resample(resampler, nil, frames: 0, into: buffer).produced == 0 { return true }
    }
    return false
  }

  /// What the buffer in hand holds; the next one begins. Nil if that is nothing.
  func takeFilled() -> Recorded? { sink.takeFilled() }

  /// Device time of a frame at the queue's rate.
  func deviceFrame(_ frame: Int64) -> Int64 {
    let position = Double(frame) / ratio
    return anchor.frame + Int64((position - Double(anchor.position)).rounded())
  }

  private func restartResampler() {
    resampler?.reset()
    nextPosition = nil
    offset = 0
  }

  /// Forgets what it holds back: the next slab's first frame is a first one.
  ///
  /// - Returns: The frames that were.
  func restart() -> Int {
    var frames = 0
    if let resampler {
      while case let (_, produced) = unsafe resample(
        resampler, nil, frames: 0, room: Self.slabFrames), produced > 0
      {
        frames += produced
      }
    }
    restartResampler()
    return frames + sink.restart()
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
          if outcome.isUsedUp { giveBackSlab(&state, to: converter) }
          if let recorded = outcome.recording { finishBuffer(&state, recorded) }
          noteEncoder(&state, isFinished: false)
          state.isConverting = false
          return !state.notices.isEmpty
        }
        if hasNotices { context.wake() }
      }
    }
  }

  /// Hands the buffer in hand to the app.
  private func finishBuffer(
    _ state: inout RecordState, _ recorded: Recorded, isReset: Bool = false
  ) {
    let deviceFrame = state.converter?.deviceFrame(recorded.startFrame) ?? 0
    give(
      &state, state.waiting.removeFirst(), recorded, deviceFrame: deviceFrame, isReset: isReset)
  }

  /// Has the cycle fill the first slab again.
  private func giveBackSlab(_ state: inout RecordState, to converter: RecordConverter) {
    let slab = state.slabs.removeFirst()
    _ = unsafe memory.recorder.pointee.spaces.push(converter.space(slab.index))
  }

  /// Converts all that has been recorded, as far as there are buffers, and gives the last one back; the run
  /// goes on after a hole. On the calling thread, which has claimed the converter while no cycle comes.
  func convertBeforeHole(with converter: RecordConverter) {
    while let work = state.read({ converter.work($0) }) {
      let outcome = converter.convert(work)
      state.change { state in
        if outcome.isUsedUp { giveBackSlab(&state, to: converter) }
        if let recorded = outcome.recording { finishBuffer(&state, recorded) }
      }
    }
    // What has no buffer yet waits in its slabs.
    if state.read({ $0.slabs.isEmpty }) { convert(.hole, with: converter, isReset: false) }
    state.change { noteEncoder(&$0, isFinished: false) }
  }

  /// Converts a part that is no slab, as far as there are buffers.
  private func convert(
    _ part: RecordConverter.Work.Part, with converter: RecordConverter, isReset: Bool
  ) {
    var isUsedUp = false
    while !isUsedUp {
      let buffer = state.read { state in state.waiting.first.flatMap { state.buffers[$0]?.buffer } }
      guard let buffer else { return }
      let outcome = converter.convert(RecordConverter.Work(part: part, buffer: buffer))
      isUsedUp = outcome.isUsedUp
      state.change { state in
        if let recorded = outcome.recording { finishBuffer(&state, recorded, isReset: isReset) }
      }
    }
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
    convert(.end, with: converter, isReset: isReset)
    let rest = converter.takeFilled()
    let isLost = converter.restart() > 0
    state.change { state in
      if isLost || !state.slabs.isEmpty { ranOut(&state) }
      state.slabs = []
      if let rest { finishBuffer(&state, rest, isReset: isReset) }
      pushSlabs(of: converter)
      noteEncoder(&state, isFinished: true)
    }
  }

  /// Has the cycle fill all slabs anew. None may be in the ring.
  func pushSlabs(of converter: RecordConverter) {
    for index in 0..<RecordConverter.slabCount {
      _ = unsafe memory.recorder.pointee.spaces.push(converter.space(index))
    }
  }
}
