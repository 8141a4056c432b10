package import Codecs
import Glibc
import Logging
package import RealTime
package import Server
import Synchronization
import System
import Timeline

/// A recording queue: fills an app's buffers from the input ports of one server client.
///
/// Safe to call on any thread that is not real-time, callbacks included. The queue holds no lock
/// during callbacks. The app's times are in frames at the queue's rate, device times in frames at
/// the server's.
@safe
package final class InputQueue: CoreQueue, @unchecked Sendable {
  package typealias Options = QueueOptions
  package typealias Handlers = QueueHandlers<InputQueue, Recording>

  /// The format of the recorded data. Its rate is the device's if the app requested none.
  package let streamFormat: StreamFormat
  let layout: SampleLayout
  let handlers: Handlers
  /// The encoder's sink; nil if the queue records linear PCM.
  let packetSink: PacketSink?
  let core: QueueCore<RecordPart>

  /// Creates a queue for linear PCM. A rate of 0 selects the device's rate and opens the device.
  ///
  /// - Throws: `unsupportedFormat`, and `cannotStart` if the device is needed and cannot be opened.
  package convenience init(
    _ format: PCMFormat, options: Options, server: any Server,
    callingBackOn executor: CallbackExecutor,
    _ handlers: Handlers
  ) throws(QueueError) {
    try self.init(
      .pcm(format), options: options, server: server, callingBackOn: executor, handlers)
  }

  /// Creates a queue for linear PCM or packets. A rate of 0 selects the device's rate and opens the
  /// device.
  ///
  /// - Throws: `unsupportedFormat`, `codecNotFound`, and `cannotStart` if the device is needed and
  ///   cannot be opened.
  package init(
    _ wanted: StreamFormat, options: Options, server: any Server,
    callingBackOn executor: CallbackExecutor, _ handlers: Handlers
  ) throws(QueueError) {
    var format = wanted.decoded
    var target = DeviceTarget.server(server)
    if case .packets(let packets) = wanted, !packets.codec.hasEncoder { throw .codecNotFound }
    if wanted.sampleRate == 0 {
      // Any valid rate serves to check the rest of the format.
      format.sampleRate = 48000
      guard format.layout != nil else { throw .unsupportedFormat }
      do throws(ServerError) {
        let device = try Device(server, clientName: options.clientName)
        format.sampleRate = device.client.sampleRate
        target = .device(device)
      } catch {
        log.error("\(error)")
        throw .cannotStart(error)
      }
    }
    guard let layout = format.layout else { throw .unsupportedFormat }
    var part = RecordPart()
    switch wanted {
    case .pcm:
      packetSink = nil
      streamFormat = .pcm(format)
    case .packets(var packets):
      packets.sampleRate = format.sampleRate
      let options = PacketEncoder.Options()
      let encoder = try Self.makeEncoder(packets, options)
      let sink = PacketSink(encoder, options)
      packetSink = sink
      streamFormat = .packets(encoder.format)
      part.encoding = sink.encoding
    }
    self.layout = layout
    self.handlers = handlers
    core = QueueCore(
      part, format, options, memory: RecorderMemory(channels: format.channels), target: target)
    core.callBack(self, on: executor) { $0.call($1) }
    if case .device = target {
      _ = try openDevice()
      // If the device is closed, the next one is opened as if the app had given the rate.
      core.target.withLock { $0 = .server(server) }
    }
  }

  /// Ends a queue at once that was released before its disposal was complete.
  deinit { core.end() }

  // MARK: Buffers

  /// Enqueues a buffer to be filled after all buffers enqueued before. `bytes` and `packets` are
  /// ignored.
  ///
  /// The queue owns the memory until it calls the app back with the buffer.
  package func enqueue(_ id: UInt32, bytes: Int = 0, packets: [PacketExtent] = [])
    throws(QueueError)
  {
    try state.change { state throws(QueueError) in
      try state.checkReturns()
      guard let buffer = state.buffers[id] else { throw .invalidBuffer }
      let least = state.part.encoding?.maximumPacketBytes ?? format.bytesPerFrame
      guard buffer.capacity >= least else { throw .bufferTooSmall }
      if state.part.ending != .none { throw .enqueueDuringReset }
      try state.checkNotResetting()
      guard state.buffers.isFree(id) else { throw .enqueuedTwice }
      state.buffers.setFree(false, id)
      state.waiting.append(id)
      pump(&state)
    }
  }

  /// Pushes waiting buffers into the ring, as far as it has room. With a converter the process
  /// thread fills staging buffers instead.
  func pump(_ state: inout RecordState) {
    guard state.device != nil, state.converter == nil else { return }
    while let id = state.waiting.first, let buffer = state.buffers[id],
      let data = unsafe buffer.data.baseAddress,
      unsafe memory.push(
        Space(data, frames: buffer.capacity / format.bytesPerFrame, layout: layout, token: id),
        after: state.inRing.count)
    {
      state.inRing.append(id)
      state.waiting.removeFirst()
    }
    if !state.waiting.isEmpty { memory.followsEveryWake.store(true, ordering: .relaxed) }
  }

  // MARK: Events

  package func readEvents() -> Bool {
    state.change { state in
      memory.followsEveryWake.store(state.converter != nil, ordering: .relaxed)
      readEvents(&state)
      pump(&state)
      return !state.notices.isEmpty
    }
  }

  /// Processes the events of the process thread.
  func readEvents(_ state: inout RecordState) {
    while let event = unsafe memory.recorder.pointee.events.pop() {
      switch event.kind {
      case .filled: take(event, &state)
      case .runBegan:
        state.beganAt = event.frame
        state.setRunning(true)
      case .ranOut: ranOut(&state)
      case .missed:
        state.part.interruptions += 1
        state.part.missedFrames += event.frames
        let deviceRate = state.device?.client.sampleRate ?? format.sampleRate
        state.part.silencedFrames += Int64(
          held: (Double(event.silence) * format.sampleRate / deviceRate).rounded())
        log.warning("\(event.frames) frames were not recorded: cycles came too late")
      }
    }
  }

  /// Processes a space that the process thread has filled.
  func take(_ event: RecordEvent, isReset: Bool = false, _ state: inout RecordState) {
    if state.converter != nil {
      state.part.stagingBuffers.append(
        RecordConverter.StagingBuffer(
          index: Int(event.token), frames: Int(event.frames), frame: event.frame,
          position: event.position))
    } else if !state.inRing.isEmpty {
      give(
        &state, state.inRing.removeFirst(),
        Recorded(
          frames: Int(event.frames), bytes: Int(event.frames) * format.bytesPerFrame, packets: [],
          startFrame: event.position),
        deviceFrame: event.frame, isReset: isReset)
    }
  }

  /// Records that no buffer was available, and notifies the app.
  func ranOut(_ state: inout RecordState) {
    // For the app this run is already over.
    if state.part.ending == .now { return }
    state.part.underruns += 1
    state.part.converterError = .recordUnderrun
    state.notices.append(.changed(.converterError))
    log.warning("frames were not recorded: no buffer was enqueued")
  }

  /// Queues the notification that returns a buffer to the app.
  func give(
    _ state: inout RecordState, _ id: UInt32, _ recorded: Recorded, deviceFrame: Int64,
    isReset: Bool
  ) {
    let device = state.isLost ? nil : state.device
    let recording = Recording(
      buffer: id, frames: recorded.frames, bytes: recorded.bytes, packets: recorded.packets,
      startFrame: recorded.startFrame,
      hostTime: device?.hostTime(ofFrame: deviceFrame) ?? HostTime.now)
    state.notices.append(.buffer(recording, isReset: isReset))
    guard state.part.ending == .whenFull, state.inRing.isEmpty, state.waiting.isEmpty else {
      return
    }
    if let device {
      let end = Double(recorded.startFrame + Int64(recorded.frames))
      state.part.fullAt = Int64(
        held: (end * device.client.sampleRate / format.sampleRate).rounded())
    }
    endRunSoon(&state)
  }

  // MARK: Callbacks

  private func call(_ notice: Notice<Recording>) {
    switch notice {
    case .buffer(let recording, _): handlers.bufferDone(self, recording)
    case .isRunning: handlers.changed(self, .isRunning)
    case .changed(let change): handlers.changed(self, change)
    }
  }
}
