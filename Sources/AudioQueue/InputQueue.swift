package import Codecs
import Glibc
import Logging
package import RealTime
package import Server
import Synchronization
import Timeline

/// A recording queue: fills an app's buffers with what reaches one client of a server.
///
/// Safe on every thread that is not real time, callbacks included. No lock is held while the app
/// is called. Times that the app sees are in frames at the queue's own rate, device times in
/// frames at the server's.
@safe
package final class InputQueue: CallingQueue, VoiceOwner, @unchecked Sendable {
  package typealias Options = QueueOptions
  package typealias Handlers = QueueHandlers<InputQueue, Recording>

  /// What buffers are filled with, at the device's rate if none was asked for.
  package let streamFormat: StreamFormat
  /// The same if that is PCM; else what it decodes to.
  package let format: PCMFormat
  let layout: SampleLayout
  let options: Options
  let handlers: Handlers
  /// What makes packets; nil if the buffers take linear PCM.
  let packetSink: PacketSink?
  let memory: RecorderMemory
  let state = Monitor(RecordState())
  /// Held by the calls that change what the queue does, never while the app is called.
  let control = Turn()
  /// The server, or the device of another queue, that this one records from.
  let target: Mutex<OutputQueue.Target>
  /// What to do once the queue has given its device back.
  let onDisposed = Mutex<(@Sendable () -> Void)?>(nil)
  private let contextStorage = Mutex<(any CallbackContext)?>(nil)

  /// A queue for linear PCM. At a rate of 0 it takes that of the device, which it opens.
  ///
  /// - Throws: `unsupportedFormat`, and `cannotStart` if the device is needed and cannot be opened.
  package convenience init(
    _ format: PCMFormat, options: Options, server: any Server, callingBackOn place: CallbackPlace,
    _ handlers: Handlers
  ) throws(QueueError) {
    try self.init(
      .pcm(format), options: options, server: server, callingBackOn: place, handlers)
  }

  /// A queue for linear PCM, or for packets. At a rate of 0 it takes that of the device, which it opens.
  ///
  /// - Throws: `unsupportedFormat`, `codecNotFound`, and `cannotStart` if the device is needed and cannot
  ///   be opened.
  package init(
    _ wanted: StreamFormat, options: Options, server: any Server,
    callingBackOn place: CallbackPlace, _ handlers: Handlers
  ) throws(QueueError) {
    var format = wanted.decoded
    var target = OutputQueue.Target.server(server)
    if case .packets(let packets) = wanted, !packets.codec.hasEncoder { throw .codecNotFound }
    if wanted.sampleRate == 0 {
      // Any rate will do to see whether all else is right.
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
      state.change { $0.encoding = sink.encoding }
    }
    self.format = format
    self.layout = layout
    self.options = options
    self.handlers = handlers
    self.target = Mutex(target)
    memory = RecorderMemory(channels: format.channels)
    let context = makeCallbackContext(place) { [weak self] in self?.deliver() }
    contextStorage.withLock { $0 = context }
    if case .device = target {
      _ = try openDevice()
      // Should it be closed, the next one is opened as if the rate had been given.
      self.target.withLock { $0 = .server(server) }
    }
  }

  /// A queue that is let go of without having been disposed of, or before that is complete, ends
  /// at once: no cycle may see its memory any more.
  deinit {
    context.invalidate()
    let (device, converter) = state.change { state in
      state.disposal = .disposed
      return (state.device, state.converter)
    }
    if let device, !device.unseat(memory) { keepMemory(converter) }
  }

  var context: any CallbackContext { contextStorage.withLock { $0! } }

  /// Has `body` run once a disposal is complete, on any thread.
  package func whenDisposed(_ body: @escaping @Sendable () -> Void) {
    onDisposed.withLock { $0 = body }
  }

  // MARK: Buffers

  /// Has a buffer filled after all that is enqueued. What it holds, `bytes` of it, does not matter.
  ///
  /// The memory belongs to the queue until the app is called back with the buffer.
  package func enqueue(_ id: UInt32, bytes: Int = 0, packets: [PacketExtent] = [])
    throws(QueueError)
  {
    try state.change { state throws(QueueError) in
      // While the server is gone the buffer waits for the next one.
      if state.cannotReturn || !state.isLost { try state.checkUsable() }
      try state.checkNotDisposed()
      guard let record = state.buffers[id] else { throw .invalidBuffer }
      let least = state.encoding?.maximumPacketBytes ?? format.bytesPerFrame
      guard record.buffer.capacity >= least else { throw .bufferTooSmall }
      if state.resets > 0 || state.ending != .none { throw .enqueueDuringReset }
      if state.isInCallback, case .buffer(_, isReset: true) = state.delivering?.notice {
        throw .enqueueDuringReset
      }
      guard record.isFree else { throw .enqueuedTwice }
      state.buffers[id]?.isFree = false
      state.waiting.append(id)
      pump(&state)
    }
  }

  /// Pushes what waits into the ring, as far as it has room. With a converter the cycle fills slabs.
  func pump(_ state: inout RecordState) {
    guard state.device != nil, state.converter == nil else { return }
    while let id = state.waiting.first, let buffer = state.buffers[id]?.buffer,
      let data = unsafe buffer.data.baseAddress,
      unsafe memory.recorder.pointee.spaces.push(
        Space(data, frames: buffer.capacity / format.bytesPerFrame, layout: layout, token: id))
    {
      state.inRing.append(id)
      state.waiting.removeFirst()
    }
  }

  // MARK: Events

  package func relay() {
    let hasNotices = state.change { state in
      readEvents(&state)
      pump(&state)
      return !state.notices.isEmpty
    }
    if hasNotices { context.wake() }
  }

  /// Takes in what the cycles have done.
  func readEvents(_ state: inout RecordState) {
    while let event = unsafe memory.recorder.pointee.events.pop() {
      switch event.kind {
      case .filled: take(event, &state)
      case .runBegan:
        state.beganAt = event.frame
        state.isRunning = true
        state.notices.append(.isRunning(true))
      case .ranOut: ranOut(&state)
      case .missed:
        state.interruptions += 1
        state.missedFrames += event.frames
        log.warning("\(event.frames) frames were not recorded: cycles came too late")
      }
    }
  }

  /// Takes in what a space holds.
  func take(_ event: RecordEvent, isReset: Bool = false, _ state: inout RecordState) {
    if state.converter != nil {
      state.slabs.append(
        RecordConverter.Slab(
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

  /// Notes that there was no buffer.
  func ranOut(_ state: inout RecordState) {
    // The run is over for the app.
    if state.ending == .now { return }
    state.underruns += 1
    state.converterError = .recordUnderrun
    state.notices.append(.changed(.converterError))
    log.warning("frames were not recorded: no buffer was enqueued")
  }

  /// Hands a buffer to the app.
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
    guard state.ending == .whenFull, state.inRing.isEmpty, state.waiting.isEmpty else { return }
    if let device {
      let end = Double(recorded.startFrame + Int64(recorded.frames))
      state.fullAt = Int64((end * device.client.sampleRate / format.sampleRate).rounded())
    }
    endRunSoon(&state)
  }

  // MARK: Calling back

  func call(_ notice: RecordNotice) {
    switch notice {
    case .buffer(let recording, _): handlers.bufferDone(self, recording)
    case .isRunning: handlers.changed(self, .isRunning)
    case .changed(let change): handlers.changed(self, change)
    }
  }
}
