import Glibc
package import RealTime
import Server
import Synchronization
import System

extension OutputQueue {
  // MARK: Mode

  /// The format for offline rendering; nil if the queue plays through a device.
  package var offlineFormat: PCMFormat? { state.read { $0.part.offline?.server.format } }

  /// Selects offline rendering to `format`, or with nil playback through the previous device.
  /// Enqueued buffers stay. Do not call while the queue runs.
  ///
  /// The format may differ from the queue's in rate and channels. Without `mix` one channel goes to
  /// the first two, and a single output channel receives the mean of all. Otherwise channels map
  /// one to one, and missing ones are silent.
  ///
  /// - Parameter mix: For each channel of the queue, its gain in each channel of the format. A
  ///   one-channel queue may have two rows, for the two sides of its balance.
  package func setOfflineFormat(_ format: PCMFormat?, mix: [[Float]]? = nil) throws(QueueError) {
    try core.controlled { () throws(QueueError) in
      let isIdle = state.read { $0.isIdle && $0.part.offline?.renderer == nil }
      guard isIdle else { throw .invalidRunState }
      var server: OfflineServer?
      if let format {
        server = OfflineServer(format, mix: mix)
        if server == nil { throw .unsupportedFormat }
      } else if offlineFormat == nil {
        return
      }
      closeDevice()
      unsafe memory.voice.pointee.closeSecondPort()
      unsafe memory.voice.pointee.setOffline(format != nil)
      state.change { $0.part.offline = server.map { OfflineRun(server: $0) } }
    }
  }

  /// Adds a second port to a one-channel queue that renders to more channels, so that its balance
  /// is heard. Call before a cycle runs on the device.
  func prepareRendering(on device: Device) {
    guard let client = device.client as? OfflineClient, format.channels == 1,
      client.server.format.channels > 1, client.server.sources?.count ?? 2 == 2
    else { return }
    memory.openSecondPort(client.addPort(named: "out_2", .output))
    unsafe memory.voice.pointee.secondPort.use(fromConnections: 0)
  }

  // MARK: Rendering

  /// Renders the next frames of a started queue with the same cycles as live playback, on the
  /// calling thread. Renders as far as there is something to play. The queue calls the app back on
  /// this thread during the call; buffers enqueued in those callbacks are rendered at once.
  ///
  /// - Parameters:
  ///   - frames: The maximum number of frames at the render format's rate; 0 only begins the run.
  ///   - buffer: Memory for frames in the render format. Its size limits the number of frames.
  ///   - time: The frame to render first, at the render format's rate since the start. Nil for the
  ///     one after the last. Skipped frames are silent: enqueued buffers are not skipped but
  ///     continue with this frame. Ignored once everything has been played.
  /// - Returns: The number of frames rendered: 0 if nothing is enqueued or everything has been
  ///   played.
  /// - Throws: `badArgument` if the frame has already been rendered.
  package func render(
    frames: Int, into buffer: UnsafeMutableRawBufferPointer, at time: Int64? = nil
  ) throws(QueueError) -> Int {
    let device = try beginRendering()
    defer { endRendering() }
    guard let client = device.client as? OfflineClient else { throw .invalidOfflineMode }
    if let time { try skip(to: time, on: device, client) }
    let bytesPerFrame = client.server.format.bytesPerFrame
    let frames = min(frames, buffer.count / bytesPerFrame)
    // A placeholder address: nothing is written if there is no room.
    let base = unsafe buffer.baseAddress ?? UnsafeMutableRawPointer(memory.voice)
    var done = 0
    defer { state.change { $0.part.offline?.renderedFrames += Int64(done) } }
    while true {
      let hasConverted = pumpConverter()
      let rendered = unsafe client.turn(
        frames: frames - done, into: base + done * bytesPerFrame
      ) { unsafe memory.voice.pointee.takeRendered() }
      done += rendered
      state.change { state in
        readEvents(&state)
        pump(&state)
      }
      let hasTold = tell(havingRendered: done, room: frames - done)
      if done == frames || state.read({ $0.disposal != .none }) { return done }
      if hasConverted || rendered > 0 || hasTold { continue }
      let isDry = state.read { $0.phase != .started || $0.inRing.isEmpty }
      if isDry { return done }
      // Another thread holds the voice, to stop it or to empty it.
      sched_yield()
    }
  }

  /// Renders into a buffer of the queue, which can be neither freed nor enqueued meanwhile.
  /// Otherwise like the function above.
  ///
  /// - Returns: The number of bytes written.
  package func render(frames: Int, intoBuffer id: UInt32, at time: Int64? = nil)
    throws(QueueError) -> Int
  {
    let buffer = try state.change { state throws(QueueError) in
      try state.checkUsable()
      guard let buffer = state.buffers[id] else { throw .invalidBuffer }
      guard state.buffers.isFree(id) else { throw .bufferInQueue }
      guard state.part.isOffline else { throw .invalidOfflineMode }
      state.buffers.setFree(false, id)
      return buffer
    }
    defer { state.change { $0.buffers.setFree(true, id) } }
    let bytesPerFrame = offlineFormat?.bytesPerFrame ?? 0
    return try unsafe render(frames: frames, into: buffer.data, at: time) * bytesPerFrame
  }

  /// Advances the run's time so that the next rendered frame is that of `time`.
  private func skip(to time: Int64, on device: Device, _ client: OfflineClient) throws(QueueError) {
    let (position, hasRun) = state.read {
      ($0.part.offline?.renderedFrames ?? 0, $0.phase == .started)
    }
    guard hasRun, time != position else { return }
    if time < position {
      throw .badArgument("frame \(time) has been rendered: the next one is \(position)")
    }
    // A requested run begins before its time advances.
    unsafe client.turn(frames: 0, into: UnsafeMutableRawPointer(memory.voice)) { 0 }
    state.change { readEvents(&$0) }
    try core.controlled { () throws(QueueError) in
      try core.holding(device) { unsafe memory.voice.pointee.skip(time - position) }
    }
    state.change { $0.part.offline?.renderedFrames = time }
  }

  private func beginRendering() throws(QueueError) -> Device {
    let device = try state.change { state throws(QueueError) in
      try state.checkUsable()
      guard let offline = state.part.offline else { throw .invalidOfflineMode }
      // Callbacks do not nest, so a call from inside a callback must fail.
      guard let device = state.device, offline.renderer == nil, !state.isInCallback,
        state.phase == .started || (state.phase.isIdle && offline.hasRendered)
      else { throw .invalidRunState }
      state.part.offline?.renderer = pthread_self()
      state.part.offline?.hasRendered = true
      return device
    }
    // Wait for a listener that another thread is calling; no other call begins from now on.
    state.wait(seconds: core.patience) { $0.delivering == nil ? () : nil }
    return device
  }

  private func endRendering() {
    let isLeft = state.change { state in
      state.part.offline?.renderer = nil
      return PlaybackPart.nextNotice(state, onlyBuffers: false) != nil
    }
    if isLeft { context.wake() }
  }

  /// Delivers the pending notifications to the app. If nothing is left to render, returns the
  /// buffers whose last frames the converter holds back.
  ///
  /// An app may take the callback for its last buffer as the signal to flush and stop, and never
  /// render again. Such a callback therefore waits until the rest of the frames would fit.
  ///
  /// - Returns: True if it delivered a notification.
  private func tell(havingRendered done: Int, room: Int) -> Bool {
    state.change { state in
      guard let converter = state.converter, !state.isConverting, state.inRing.isEmpty,
        state.waiting.isEmpty, done == 0 || room > converter.heldFrames
      else { return }
      converter.returnHeld(state.part.held.count, &state)
    }
    var hasTold = false
    while core.deliverNext() { hasTold = true }
    return hasTold
  }

  // MARK: The converter

  /// Converts waiting items on the calling thread, as far as there is room. Offline only: a queue
  /// that plays has a worker thread for that.
  ///
  /// - Returns: True if it converted anything.
  @discardableResult
  func pumpConverter() -> Bool {
    var hasConverted = false
    while true {
      let next = state.change { state -> (Converter, Converter.Work)? in
        guard state.part.isOffline, !state.isConverting, let converter = state.converter,
          let work = converter.takeWork(&state)
        else { return nil }
        return (converter, work)
      }
      guard let (converter, work) = next else { return hasConverted }
      _ = convert(work, with: converter)
      hasConverted = true
    }
  }
}
