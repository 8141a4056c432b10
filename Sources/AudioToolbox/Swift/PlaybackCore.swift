import AudioQueue
import CAudioToolbox
import Dispatch
import Logging
import Synchronization
import System

/// The part of a `PlaybackQueue` that the C API's callbacks use. It has no reference to the public
/// object, so that callbacks do not keep that alive.
///
/// Callbacks run on a dispatch queue of their own, which runs no code of the program, so nothing
/// delays them. The render closure runs on another dispatch queue.
final class PlaybackCore: Sendable {
  /// The AudioQueueRef.
  @safe struct Queue: @unchecked Sendable {
    let reference: AudioQueueRef
    init(_ reference: AudioQueueRef) { unsafe self.reference = reference }
  }

  @safe struct Buffer: @unchecked Sendable {
    let reference: AudioQueueBufferRef
    init(_ reference: AudioQueueBufferRef) { unsafe self.reference = reference }
  }

  /// The type-erased render closure. It calls `use` once with the samples that start at `frame`.
  typealias Render = (_ frame: Int, _ use: (RawSpan) -> Void) -> Void

  /// The packet descriptions and trimming of a buffer.
  struct Packets: Sendable {
    var descriptions: [AudioStreamPacketDescription] = []
    var trimmedAtStart: UInt32 = 0
    var trimmedAtEnd: UInt32 = 0
  }

  /// A render closure and the only dispatch queue that calls it.
  @safe private struct Renderer: @unchecked Sendable {
    let render: Render
    let queue = DispatchQueue(label: "cuejack.render")
    static let key = DispatchSpecificKey<ObjectIdentifier>()
  }

  /// The result of a render call, for the thread that waits for it.
  private final class Answer: Sendable {
    let isThere = DispatchSemaphore(value: 0)
    let result = Mutex(Result<Void, AudioQueueError>.success(()))
  }

  /// State of the calls that control the queue. The lock is never held while code of the program
  /// runs.
  private struct Control {
    var queue: Queue?
    var isDisposed = false
    /// True while the render closure is asked for samples.
    var isRendering = false
    /// Frames that the closure has produced in this run.
    var renderedFrames = 0
  }

  /// The tasks that wait until a number of runs are over.
  private struct Waiters {
    /// The number of runs whose end the observers know.
    var over = 0
    var all: [(run: Int, done: AsyncStream<Never>.Continuation)] = []

    mutating func finish(upTo over: Int) {
      self.over = max(self.over, over)
      all.removeAll { waiter in
        if waiter.run <= self.over { waiter.done.finish() }
        return waiter.run <= self.over
      }
    }
  }

  /// An observer of a property.
  private struct Observer {
    let property: AudioQueuePropertyID
    let changed: @Sendable (Queue) -> Void
    let finish: @Sendable () -> Void
  }
  private struct Observers {
    var lastID = 0
    var all: [Int: Observer] = [:]
    /// The properties with a listener in the C API.
    var properties: Set<AudioQueuePropertyID> = []
    var isOver = false
  }

  /// Cores by number. The C API's listeners use the number, which may be stale.
  private static let all = HandleTable<PlaybackCore>()

  let bytesPerFrame: Int
  let bufferFrames: Int
  /// The buffers that are not enqueued.
  private let free = Pool<Buffer>()
  /// The right to write. Writers take it in turn, so that each piece stays whole.
  private let turn = Pool<Void>()
  private let renderer: Renderer?
  private let callbacks = DispatchQueue(label: "cuejack.playback")
  private let control = Mutex(Control())
  private let waiters = Mutex(Waiters())
  private let observers = Mutex(Observers())
  private let number = Mutex<UInt>(0)

  init(bytesPerFrame: Int, bufferFrames: Int, render: sending Render?) {
    self.bytesPerFrame = bytesPerFrame
    self.bufferFrames = bufferFrames
    renderer = render.map { Renderer(render: $0) }
    renderer?.queue.setSpecific(key: Renderer.key, value: ObjectIdentifier(self))
    turn.give(())
  }

  /// Creates the queue and its buffers. The caller must call `close` even if this throws.
  func open(_ format: AudioStreamBasicDescription, buffers: Int) throws(AudioQueueError) {
    var queue: AudioQueueRef?
    try unsafe check(
      AudioQueueNewOutputWithDispatchQueue(&queue, [format], 0, callbacks) { [self] _, buffer in
        unsafe bufferDone(Buffer(buffer))
      })
    guard let queue = unsafe queue else { throw AudioQueueError(kAudio_ParamError) }
    control.withLock { $0.queue = unsafe Queue(queue) }
    let number = Self.all.add { _ in self }
    self.number.withLock { $0 = number }
    try listen(to: kAudioQueueProperty_IsRunning)
    for _ in 0..<buffers {
      var buffer: AudioQueueBufferRef?
      try unsafe check(
        AudioQueueAllocateBuffer(queue, UInt32(bufferFrames * bytesPerFrame), &buffer))
      if let buffer = unsafe buffer { free.give(unsafe Buffer(buffer)) }
    }
  }

  /// Disposes of the queue at once.
  func close() {
    control.withLock { control in
      control.isDisposed = true
      control.isRendering = false
      if let queue = control.queue { _ = unsafe AudioQueueDispose(queue.reference, true) }
    }
    Self.all.remove(number.withLock { $0 })
    let all = observers.withLock { observers in
      observers.isOver = true
      defer { observers.all = [:] }
      return observers.all.values
    }
    for observer in all { observer.finish() }
  }

  /// The queue, for calls that may be made at any time.
  var queue: Queue { control.withLock { $0.queue! } }

  /// Runs `body` while holding the control lock.
  private func controlled<R>(
    _ body: (Queue, inout Control) throws(AudioQueueError) -> R
  ) throws(AudioQueueError) -> R {
    try control.withLock { (control) throws(AudioQueueError) in
      guard !control.isDisposed, let queue = control.queue else {
        throw AudioQueueError(kAudio_ParamError)
      }
      return try body(queue, &control)
    }
  }

  // MARK: Control

  func start(_ time: AudioTimeStamp?) throws(AudioQueueError) {
    try render()
    try controlled { (queue, control) throws(AudioQueueError) in
      // Otherwise another run would follow this one, with nothing to play.
      if renderer != nil, !control.isRendering, !(try Self.output(queue).canBeginRun) { return }
      if let time {
        try unsafe check(AudioQueueStart(queue.reference, [time]))
      } else {
        try unsafe check(AudioQueueStart(queue.reference, nil))
      }
    }
  }

  func pause() throws(AudioQueueError) {
    try controlled { (queue, _) throws(AudioQueueError) in
      try unsafe check(AudioQueuePause(queue.reference))
    }
  }

  func stop() throws(AudioQueueError) {
    try controlled { (queue, control) throws(AudioQueueError) in
      control.isRendering = false
      try unsafe check(AudioQueueStop(queue.reference, true))
      // The observers are told first. A run that had not begun ends without a notification.
      callbacks.sync {}
      let over = try Self.output(queue).runs.over
      waiters.withLock { $0.finish(upTo: over) }
    }
  }

  /// Ends the run after all enqueued buffers.
  ///
  /// - Returns: The number of runs that are over by then.
  func stopAfterPlaying() throws(AudioQueueError) -> Int {
    try controlled { (queue, control) throws(AudioQueueError) in
      try stopAfterPlaying(queue, &control)
    }
  }

  private func stopAfterPlaying(_ queue: Queue, _ control: inout Control)
    throws(AudioQueueError) -> Int
  {
    control.isRendering = false
    let started = try Self.output(queue).runs.started
    try unsafe check(AudioQueueStop(queue.reference, false))
    return started
  }

  /// The number of runs started so far.
  var startedRuns: Int { (try? Self.output(queue).runs.started) ?? 0 }

  /// Returns the queue behind a reference.
  private static func output(_ queue: Queue) throws(AudioQueueError) -> OutputQueue {
    let handle = unsafe QueueHandle.all.object(UInt(bitPattern: queue.reference))
    guard let queue = handle?.queue as? OutputQueue else {
      throw AudioQueueError(kAudio_ParamError)
    }
    return queue
  }

  /// Waits until `run` runs are over, or the task is cancelled.
  func waitForEnd(ofRun run: Int) async {
    let (stream, done) = AsyncStream<Never>.makeStream()
    waiters.withLock { waiters in
      if waiters.over >= run { done.finish() } else { waiters.all.append((run, done)) }
    }
    for await _ in stream {}
  }

  func reset() throws(AudioQueueError) {
    try controlled { (queue, _) throws(AudioQueueError) in
      try unsafe check(AudioQueueReset(queue.reference))
    }
  }

  func flush() throws(AudioQueueError) {
    try controlled { (queue, _) throws(AudioQueueError) in
      try unsafe check(AudioQueueFlush(queue.reference))
    }
  }

  func prime(frames: Int) throws(AudioQueueError) -> Int {
    try render()
    var ready: UInt32 = 0
    try unsafe check(AudioQueuePrime(queue.reference, UInt32(clamping: frames), &ready))
    return Int(ready)
  }

  // MARK: Samples and buffers

  /// True if a closure renders the samples.
  var renders: Bool { renderer != nil }

  private func bufferDone(_ buffer: Buffer) {
    free.give(buffer)
    // Not on this dispatch queue: a slow closure would delay the queue's callbacks.
    renderer?.queue.async { [self] in
      do throws(AudioQueueError) { try fill() } catch { log.debug("rendering ends: \(error)") }
    }
  }

  /// Runs `body`, which writes one or more buffers, after the earlier writers have finished.
  func inTurn(_ body: () async throws(AudioQueueError) -> Void) async throws(AudioQueueError) {
    guard await turn.take() != nil else { throw .cancelled }
    defer { turn.give(()) }
    try await body()
  }

  /// Waits for a free buffer, copies the samples into it and enqueues it.
  func write<Sample: BitwiseCopyable>(_ samples: [Sample], _ packets: Packets = Packets())
    async throws(AudioQueueError)
  {
    guard let buffer = await free.take() else { throw .cancelled }
    do throws(AudioQueueError) {
      try controlled { (queue, _) throws(AudioQueueError) in
        try enqueue(unsafe samples.span.bytes, packets, in: buffer, of: queue)
      }
    } catch {
      free.give(buffer)
      throw error
    }
  }

  /// Copies bytes into a buffer and enqueues it.
  private func enqueue(
    _ bytes: RawSpan, _ packets: Packets = Packets(), in buffer: Buffer, of queue: Queue
  ) throws(AudioQueueError) {
    let header = unsafe buffer.reference
    let memory = unsafe UnsafeMutableRawBufferPointer(
      start: header.pointee.mAudioData, count: Int(header.pointee.mAudioDataBytesCapacity))
    unsafe bytes.withUnsafeBytes { unsafe memory.copyMemory(from: $0) }
    unsafe header.pointee.mAudioDataByteSize = UInt32(bytes.byteCount)
    try unsafe check(
      AudioQueueEnqueueBufferWithParameters(
        queue.reference, header, UInt32(packets.descriptions.count), packets.descriptions,
        packets.trimmedAtStart, packets.trimmedAtEnd, 0, nil, nil, nil))
  }

  /// Fills every free buffer from the closure before it returns. Inside the closure it does not
  /// wait: the remaining buffers follow when the closure returns.
  private func render() throws(AudioQueueError) {
    guard let renderQueue = renderer?.queue else { return }
    let isInside = DispatchQueue.getSpecific(key: Renderer.key) == ObjectIdentifier(self)
    if isInside { return try beginRendering() }
    // Not `sync`, which could call the closure on this thread.
    let answer = Answer()
    renderQueue.async { [self] in
      let result = Result { () throws(AudioQueueError) in
        try beginRendering()
        try fill()
      }
      answer.result.withLock { $0 = result }
      answer.isThere.signal()
    }
    answer.isThere.wait()
    try answer.result.withLock { $0 }.get()
  }

  private func beginRendering() throws(AudioQueueError) {
    try controlled { (queue, control) throws(AudioQueueError) in
      if control.isRendering { return }
      if try Self.output(queue).isPaused { return }
      control.isRendering = true
      control.renderedFrames = 0
    }
  }

  /// Fills free buffers from the closure until the closure produces nothing. Call on the closure's
  /// dispatch queue.
  private func fill() throws(AudioQueueError) {
    guard let renderer else { return }
    while true {
      let frame = control.withLock { $0.isRendering ? $0.renderedFrames : nil }
      guard let frame, let buffer = free.takeIfAny() else { return }
      var isEnqueued = false
      var failure: AudioQueueError?
      renderer.render(frame) { bytes in
        do throws(AudioQueueError) {
          isEnqueued = try give(bytes, in: buffer)
        } catch {
          failure = error
        }
      }
      if !isEnqueued { free.give(buffer) }
      if let failure { throw failure }
      if !isEnqueued { return }
    }
  }

  /// Enqueues the closure's samples. Ends the run if there are none.
  ///
  /// - Returns: False if nothing was enqueued.
  private func give(_ bytes: RawSpan, in buffer: Buffer) throws(AudioQueueError)
    -> Bool
  {
    try controlled { (queue, control) throws(AudioQueueError) in
      // Stopped in the meantime: the samples are no longer needed.
      guard control.isRendering else { return false }
      let frames = bytes.byteCount / bytesPerFrame
      if frames == 0 {
        _ = try stopAfterPlaying(queue, &control)
        return false
      }
      do throws(AudioQueueError) {
        try enqueue(bytes.extracting(first: frames * bytesPerFrame), in: buffer, of: queue)
      } catch {
        control.isRendering = false
        throw error
      }
      control.renderedFrames += frames
      return true
    }
  }

  // MARK: Changes

  /// Adds an observer: calls `changed` after each change of a property, and `finish` when the queue
  /// is closed.
  ///
  /// - Returns: The argument for `removeObserver`.
  func addObserver(
    of property: AudioQueuePropertyID, _ changed: @escaping @Sendable (Queue) -> Void,
    finish: @escaping @Sendable () -> Void
  ) throws(AudioQueueError) -> Int {
    try listen(to: property)
    return observers.withLock { observers in
      observers.lastID += 1
      observers.all[observers.lastID] = Observer(
        property: property, changed: changed, finish: finish)
      return observers.lastID
    }
  }

  func removeObserver(_ id: Int) { _ = observers.withLock { $0.all.removeValue(forKey: id) } }

  /// Registers a listener with the C API, once per property.
  private func listen(to property: AudioQueuePropertyID) throws(AudioQueueError) {
    guard observers.withLock({ $0.properties.insert(property).inserted }) else { return }
    let status = unsafe AudioQueueAddPropertyListener(
      queue.reference, property,
      { number, queue, property in
        unsafe PlaybackCore.all.object(UInt(bitPattern: number))?.changed(
          property, of: Queue(queue))
      },
      UnsafeMutableRawPointer(bitPattern: number.withLock { $0 }))
    if status != noErr { _ = observers.withLock { $0.properties.remove(property) } }
    try check(status)
  }

  private func changed(_ property: AudioQueuePropertyID, of queue: Queue) {
    let told = observers.withLock { $0.all.values.filter { $0.property == property } }
    for observer in told { observer.changed(queue) }
    // Last, because a task that waited for the end may release the queue and with it the observers.
    if property == kAudioQueueProperty_IsRunning, let over = try? Self.output(queue).runs.toldOver {
      waiters.withLock { $0.finish(upTo: over) }
    }
  }
}
