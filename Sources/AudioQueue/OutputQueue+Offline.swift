import Glibc
package import RealTime
import Server
import Synchronization

extension OutputQueue {
  // MARK: Mode

  /// The format that the queue renders to; nil if it plays through a device.
  package var offlineFormat: PCMFormat? { state.read { $0.offlineServer?.format } }

  /// Has the queue render to `format` from now on, or play through the device that it had before if that
  /// is nil. What is enqueued stays. Not while it runs.
  ///
  /// The format may have another rate and other channels than the queue. Without `mix` one channel goes to
  /// the first two, into one goes the mean of all, and else each goes to its own; those that are missing are
  /// silent.
  ///
  /// - Parameter mix: For each channel of the queue how much of it each channel of the format takes. A queue
  ///   of one channel may have two rows: the sides of its balance.
  package func setOfflineFormat(_ format: PCMFormat?, mix: [[Float]]? = nil) throws(QueueError) {
    try controlled { () throws(QueueError) in
      let isIdle = state.read { $0.phase == .idle && !$0.isRunning && $0.renderer == nil }
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
      state.change { state in
        state.offlineServer = server
        state.hasRendered = false
        state.renderedFrames = 0
      }
    }
  }

  /// Gives a queue of one channel a second port, if it renders to more: the balance is heard there. Before
  /// a cycle sees the device.
  func prepareRendering(on device: Device) {
    guard let client = device.client as? OfflineClient, format.channels == 1,
      client.server.format.channels > 1, client.server.sources?.count ?? 2 == 2
    else { return }
    unsafe memory.ports[1] = client.addPort(named: "out_2", .output).place
    unsafe memory.voice.pointee.openSecondPort()
    unsafe memory.voice.pointee.useSecondPort(fromConnections: 0)
  }

  package func checkOnline() throws(QueueError) {
    if state.read({ $0.isOffline }) { throw .invalidOfflineMode }
  }

  /// Runs `body` alone among the calls that change what the queue does, if it does not render offline.
  func online<R>(_ body: () throws(QueueError) -> R) throws(QueueError) -> R {
    try controlled { () throws(QueueError) in
      try checkOnline()
      return try body()
    }
  }

  // MARK: Rendering

  /// Renders the next frames of a queue that was started: the same cycles as live, on the calling thread,
  /// as far as there is something to play. The app is called back from within, on this thread; what it
  /// enqueues then is rendered at once.
  ///
  /// - Parameters:
  ///   - frames: The most frames, at the render format's rate; 0 to begin the run only.
  ///   - buffer: Room for the frames in the render format; fewer are rendered if it has less.
  ///   - time: The frame, at the render format's rate since the start, that is to be rendered first; nil for
  ///     the one after the last. The frames that it skips are silent: what is enqueued is not skipped, but
  ///     goes on with this frame. Of no account once everything has been played.
  /// - Returns: The frames rendered: 0 if nothing is enqueued, or all has been played.
  /// - Throws: `badArgument` if the frame has been rendered.
  package func render(
    frames: Int, into buffer: UnsafeMutableRawBufferPointer, at time: Int64? = nil
  ) throws(QueueError) -> Int {
    let device = try beginRendering()
    defer { endRendering() }
    guard let client = device.client as? OfflineClient else { throw .invalidOfflineMode }
    if let time { try skip(to: time, on: device, client) }
    let bytesPerFrame = client.server.format.bytesPerFrame
    let frames = min(frames, buffer.count / bytesPerFrame)
    // Nothing is written if there is no room.
    let base = unsafe buffer.baseAddress ?? UnsafeMutableRawPointer(memory.voice)
    var done = 0
    defer { state.change { $0.renderedFrames += Int64(done) } }
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

  /// The same into a buffer of the queue's own, which nobody can free or enqueue meanwhile.
  ///
  /// - Returns: The bytes written.
  package func render(frames: Int, intoBuffer id: UInt32, at time: Int64? = nil)
    throws(QueueError) -> Int
  {
    let buffer = try state.change { state throws(QueueError) in
      try state.checkUsable()
      guard let record = state.buffers[id] else { throw .invalidBuffer }
      guard record.isFree else { throw .bufferInQueue }
      guard state.isOffline else { throw .invalidOfflineMode }
      state.buffers[id]?.isFree = false
      return record.buffer
    }
    defer { state.change { $0.buffers[id]?.isFree = true } }
    let bytesPerFrame = offlineFormat?.bytesPerFrame ?? 0
    return try unsafe render(frames: frames, into: buffer.data, at: time) * bytesPerFrame
  }

  /// Moves the run's time on, so that the frame rendered next is that of `time`.
  private func skip(to time: Int64, on device: Device, _ client: OfflineClient) throws(QueueError) {
    let (position, hasRun) = state.read { ($0.renderedFrames, $0.phase == .started) }
    guard hasRun, time != position else { return }
    if time < position {
      throw .badArgument("frame \(time) has been rendered: the next one is \(position)")
    }
    // A run that has been asked for begins before its time moves on.
    unsafe client.turn(frames: 0, into: UnsafeMutableRawPointer(memory.voice)) { 0 }
    state.change { readEvents(&$0) }
    try controlled { () throws(QueueError) in
      try holding(device) { unsafe memory.voice.pointee.skip(time - position) }
    }
    state.change { $0.renderedFrames = time }
  }

  private func beginRendering() throws(QueueError) -> Device {
    let device = try state.change { state throws(QueueError) in
      try state.checkUsable()
      guard state.isOffline else { throw .invalidOfflineMode }
      // Callbacks do not nest, so a call from inside one has to fail.
      guard let device = state.device, state.renderer == nil, !state.isInCallback,
        state.phase == .started || (state.phase == .idle && state.hasRendered)
      else { throw .invalidRunState }
      state.renderer = pthread_self()
      state.hasRendered = true
      return device
    }
    // A listener that is being called elsewhere; no other is from now on.
    state.wait(seconds: Self.patience) { $0.delivering == nil ? () : nil }
    return device
  }

  private func endRendering() {
    let isLeft = state.change { state in
      state.renderer = nil
      return state.nextNotice(onlyBuffers: false) != nil
    }
    if isLeft { context.wake() }
  }

  /// Tells the app what has happened.
  ///
  /// A converter is done with a buffer before all of its frames have left. The app may take the call for
  /// the last one, flush and stop, and never render again; so it is made when the rest would fit.
  ///
  /// - Returns: True if it was told something.
  private func tell(havingRendered done: Int, room: Int) -> Bool {
    var hasTold = false
    while true {
      let waits = state.read { state in
        guard state.holdsBack, let converter = state.converter else { return false }
        let isDry = state.inRing.isEmpty && state.waiting.isEmpty
        return !isDry || (done > 0 && room <= converter.heldFrames)
      }
      if waits || !deliverNext() { return hasTold }
      hasTold = true
    }
  }

  // MARK: The converter

  /// Converts what waits, on the calling thread, as far as there is room. Only offline: a queue that plays
  /// has a thread for that.
  ///
  /// - Returns: True if something was converted.
  @discardableResult
  func pumpConverter() -> Bool {
    var hasConverted = false
    while true {
      let next = state.change { state -> (Converter, Converter.Work)? in
        guard state.isOffline, !state.isConverting, let converter = state.converter,
          let work = converter.takeWork(&state)
        else { return nil }
        return (converter, work)
      }
      guard let (converter, work) = next else { return hasConverted }
      let isDone = converter.convert(work)
      state.change { state in
        converter.finish(work, isDone: isDone, &state) { entry in
          unsafe memory.voice.pointee.entries.push(entry)
        }
      }
      hasConverted = true
    }
  }
}
