import Codecs
import Logging
import RealTime
import Server
import System
import Timeline

/// Converts recorded frames from staging buffers, which the process thread fills, into the app's
/// buffers. Resamples to the queue's rate and encodes packets if the queue's format requires it.
///
/// Use from one thread at a time: the worker thread, or a call that ends the run. The user is the
/// thread that has set `isConverting` in the state.
@safe
final class RecordConverter: @unchecked Sendable {
  static var stagingFrames: Int { 1024 }
  static var stagingBufferCount: Int { 32 }

  /// A staging buffer that the process thread has filled.
  struct StagingBuffer {
    let index: Int
    let frames: Int
    /// Device frame of the first recorded frame, and its position in the run.
    let frame: Int64
    let position: Int64
  }

  private let sink: any RecordSink
  private let stagingLayout: SampleLayout
  /// Nil if the device has the queue's rate.
  private let resampler: Resampler?
  private let ratio: Double
  private let channels: Int
  /// `stagingBufferCount` staging buffers; each has a plane of `stagingFrames` floats per channel.
  private let stagingBuffers: UnsafeMutableBufferPointer<Float>
  /// Resampler output: `stagingFrames` frames at the queue's rate.
  private let output: UnsafeMutableBufferPointer<Float>
  private let inputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let outputPlanes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>

  /// Frames consumed of the current staging buffer.
  private var offset = 0
  /// The position that would continue the previous staging buffer; nil at first.
  private var nextPosition: Int64?
  /// A matching pair of device frame and position, from which others are computed.
  private var anchor: (frame: Int64, position: Int64) = (0, 0)

  /// Creates a converter into a sink; nil if there is no conversion between these rates.
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
    stagingLayout = .float32(channels: channels)
    unsafe stagingBuffers = .allocate(
      capacity: Self.stagingBufferCount * channels * Self.stagingFrames)
    unsafe stagingBuffers.initialize(repeating: 0)
    unsafe output = .allocate(capacity: channels * Self.stagingFrames)
    unsafe output.initialize(repeating: 0)
    unsafe inputPlanes = .allocate(capacity: channels)
    unsafe outputPlanes = .allocate(capacity: channels)
    for channel in 0..<channels {
      unsafe (inputPlanes + channel).initialize(to: stagingBuffers.baseAddress!)
      unsafe (outputPlanes + channel).initialize(
        to: output.baseAddress! + channel * Self.stagingFrames)
    }
    unsafe lockIntoMemory(UnsafeRawBufferPointer(stagingBuffers))
  }

  deinit {
    unsafe unlockFromMemory(UnsafeRawBufferPointer(stagingBuffers))
    unsafe outputPlanes.deallocate()
    unsafe inputPlanes.deallocate()
    unsafe output.deallocate()
    unsafe stagingBuffers.deallocate()
  }

  /// Returns a staging buffer for the process thread to fill.
  func space(_ index: Int) -> Space {
    unsafe Space(
      stagingBuffers.baseAddress! + index * channels * Self.stagingFrames,
      frames: Self.stagingFrames,
      layout: stagingLayout, planeFrames: Self.stagingFrames, token: UInt32(index))
  }

  /// The next task of the worker thread: one conversion, or to end.
  enum Step {
    case convert(Work)
    case end
  }

  /// One conversion step and the buffer that it fills.
  struct Work {
    enum Part {
      case stagingBuffer(StagingBuffer)
      /// The remaining frames recorded at this rate; a hole follows.
      case hole
      /// All remaining frames: nothing follows.
      case end
    }
    let part: Part
    let buffer: QueueBuffer
  }

  /// The result of a conversion step.
  struct Outcome {
    /// True if the part is complete.
    var isUsedUp = false
    /// The content of the buffer, if it is full or what follows does not belong into it.
    var recording: Recorded?
  }

  /// Returns the next step if there are a filled staging buffer and an app buffer for it. The
  /// caller must hold the state lock.
  func work(_ state: RecordState) -> Work? {
    guard let stagingBuffer = state.part.stagingBuffers.first, let id = state.waiting.first,
      let buffer = state.buffers[id]
    else { return nil }
    return Work(part: .stagingBuffer(stagingBuffer), buffer: buffer)
  }

  /// Fills the app's buffer until it is full or the staging buffer is used up. Call without holding
  /// the state lock.
  func convert(_ work: Work) -> Outcome {
    let stagingBuffer: StagingBuffer
    switch work.part {
    case .stagingBuffer(let part): stagingBuffer = part
    case .hole:
      guard drain(into: work.buffer) else { return Outcome(recording: sink.takeFilled()) }
      restartResampler()
      return Outcome(isUsedUp: true, recording: sink.takeFilled())
    case .end:
      let isUsedUp = drain(into: work.buffer) && sink.finish(into: work.buffer)
      return Outcome(
        isUsedUp: isUsedUp, recording: sink.isFull(work.buffer) ? sink.takeFilled() : nil)
    }
    if offset == 0, let nextPosition, nextPosition != stagingBuffer.position {
      // A hole: the frames that the resampler holds back belong before it.
      guard drain(into: work.buffer) else { return Outcome(recording: sink.takeFilled()) }
      restartResampler()
    }
    if nextPosition == nil {
      let frame = Int64(held: (Double(stagingBuffer.position) * ratio).rounded())
      if let recorded = sink.begin(at: frame) { return Outcome(recording: recorded) }
      nextPosition = stagingBuffer.position
    }
    if offset == 0 { anchor = (stagingBuffer.frame, stagingBuffer.position) }
    let base =
      unsafe stagingBuffers.baseAddress! + stagingBuffer.index * channels * Self.stagingFrames
    while offset < stagingBuffer.frames, !sink.isFull(work.buffer) {
      for channel in 0..<channels {
        unsafe inputPlanes[channel] = base + channel * Self.stagingFrames + offset
      }
      let left = stagingBuffer.frames - offset
      guard let resampler else {
        let count = min(left, sink.room(work.buffer))
        unsafe sink.put(inputPlanes, frames: count, into: work.buffer)
        offset += count
        continue
      }
      let (consumed, produced) = unsafe resample(
        resampler, inputPlanes, frames: left, into: work.buffer)
      offset += consumed
      // A resampler that makes no progress must not keep the queue from ending.
      if consumed == 0 && produced == 0 { offset = stagingBuffer.frames }
    }
    var outcome = Outcome()
    if offset == stagingBuffer.frames {
      outcome.isUsedUp = true
      offset = 0
      nextPosition = stagingBuffer.position + Int64(stagingBuffer.frames)
    }
    if sink.isFull(work.buffer) { outcome.recording = sink.takeFilled() }
    return outcome
  }

  /// Resamples into the buffer. A failing resampler produces no frames.
  private func resample(
    _ resampler: Resampler, _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames: Int,
    into buffer: QueueBuffer
  ) -> (consumed: Int, produced: Int) {
    let room = min(sink.room(buffer), Self.stagingFrames)
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

  /// Outputs the frames that the resampler holds back.
  ///
  /// - Returns: True if these were all; false if the buffer is full.
  private func drain(into buffer: QueueBuffer) -> Bool {
    guard let resampler else { return true }
    while !sink.isFull(buffer) {
      if unsafe resample(resampler, nil, frames: 0, into: buffer).produced == 0 { return true }
    }
    return false
  }

  /// Returns the content of the current buffer and begins the next one; nil if it is empty.
  func takeFilled() -> Recorded? { sink.takeFilled() }

  /// Returns the device frame that matches a frame at the queue's rate.
  func deviceFrame(_ frame: Int64) -> Int64 {
    let position = Double(frame) / ratio
    return anchor.frame + Int64(held: (position - Double(anchor.position)).rounded())
  }

  private func restartResampler() {
    resampler?.reset()
    nextPosition = nil
    offset = 0
  }

  /// Discards all frames held back: the next staging buffer continues nothing.
  ///
  /// - Returns: The number of frames discarded.
  func restart() -> Int {
    var frames = 0
    if let resampler {
      while case let (_, produced) = unsafe resample(
        resampler, nil, frames: 0, room: Self.stagingFrames), produced > 0
      {
        frames += produced
      }
    }
    restartResampler()
    return frames + sink.restart()
  }
}

extension InputQueue {
  /// Runs the converter's worker thread until the queue has another converter or none.
  func startConverting(with converter: RecordConverter) {
    startThread(named: "cuejack-convert") { [weak self, state] in
      while true {
        let step = state.wait { state -> RecordConverter.Step? in
          if state.converter !== converter || state.disposal == .disposed { return .end }
          guard !state.isConverting, let work = converter.work(state) else { return nil }
          state.isConverting = true
          return .convert(work)
        }
        guard case .convert(let work) = step else { return }
        guard let self else {
          state.change { $0.isConverting = false }
          return
        }
        let outcome = converter.convert(work)
        let hasNotices = state.change { state in
          if outcome.isUsedUp { giveBackStagingBuffer(&state, to: converter) }
          if let recorded = outcome.recording { finishBuffer(&state, recorded) }
          noteEncoder(&state, isFinished: false)
          state.isConverting = false
          return !state.notices.isEmpty
        }
        if hasNotices { context.wake() }
      }
    }
  }

  /// Hands the current buffer to the app.
  private func finishBuffer(
    _ state: inout RecordState, _ recorded: Recorded, isReset: Bool = false
  ) {
    let deviceFrame = state.converter?.deviceFrame(recorded.startFrame) ?? 0
    give(
      &state, state.waiting.removeFirst(), recorded, deviceFrame: deviceFrame, isReset: isReset)
  }

  /// Returns the first staging buffer to the process thread.
  private func giveBackStagingBuffer(_ state: inout RecordState, to converter: RecordConverter) {
    let stagingBuffer = state.part.stagingBuffers.removeFirst()
    _ = unsafe memory.recorder.pointee.spaces.push(converter.space(stagingBuffer.index))
  }

  /// Converts everything recorded so far, as far as there are buffers, and hands back the last
  /// buffer. The run continues after a hole. The caller must have claimed the converter while no
  /// cycles run.
  func convertBeforeHole(with converter: RecordConverter) {
    while let work = state.read({ converter.work($0) }) {
      let outcome = converter.convert(work)
      state.change { state in
        if outcome.isUsedUp { giveBackStagingBuffer(&state, to: converter) }
        if let recorded = outcome.recording { finishBuffer(&state, recorded) }
      }
    }
    // Frames without an app buffer wait in their staging buffers.
    if state.read({ $0.part.stagingBuffers.isEmpty }) {
      convert(.hole, with: converter, isReset: false)
    }
    state.change { noteEncoder(&$0, isFinished: false) }
  }

  /// Converts a part other than a staging buffer, as far as there are buffers.
  private func convert(
    _ part: RecordConverter.Work.Part, with converter: RecordConverter, isReset: Bool
  ) {
    var isUsedUp = false
    while !isUsedUp {
      let buffer = state.read { state in state.waiting.first.flatMap { state.buffers[$0] } }
      guard let buffer else { return }
      let outcome = converter.convert(RecordConverter.Work(part: part, buffer: buffer))
      isUsedUp = outcome.isUsedUp
      state.change { state in
        if let recorded = outcome.recording { finishBuffer(&state, recorded, isReset: isReset) }
      }
    }
  }

  /// Converts everything that is left, as far as there are buffers. The caller must have claimed
  /// the converter and must keep the process thread out of the staging buffers.
  func convertRest(with converter: RecordConverter, isReset: Bool) {
    while let work = state.read({ converter.work($0) }) {
      let outcome = converter.convert(work)
      state.change { state in
        if outcome.isUsedUp { state.part.stagingBuffers.removeFirst() }
        if let recorded = outcome.recording { finishBuffer(&state, recorded, isReset: isReset) }
      }
    }
    convert(.end, with: converter, isReset: isReset)
    let rest = converter.takeFilled()
    let isLost = converter.restart() > 0
    state.change { state in
      if isLost || !state.part.stagingBuffers.isEmpty { ranOut(&state) }
      state.part.stagingBuffers = []
      if let rest { finishBuffer(&state, rest, isReset: isReset) }
      pushStagingBuffers(of: converter)
      noteEncoder(&state, isFinished: true)
    }
  }

  /// Gives all staging buffers to the process thread. None may be in the ring.
  func pushStagingBuffers(of converter: RecordConverter) {
    for index in 0..<RecordConverter.stagingBufferCount {
      _ = unsafe memory.recorder.pointee.spaces.push(converter.space(index))
    }
  }
}
