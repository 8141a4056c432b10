import CAudioToolbox
import Dispatch
import Logging
import Synchronization

/// The part of a `PlaybackQueue` that the C API's callbacks reach. It knows nothing of the object
/// that programs hold, so that nothing keeps that alive.
///
/// Callbacks come on a dispatch queue of their own, where no code of the program ever runs, so they
/// are never held up. The render closure runs on another one.
final class PlaybackCore: Sendable {
  /// The queue as the C API knows it.
  @safe struct Queue: @unchecked Sendable {
    let reference: AudioQueueRef
    init(_ reference: AudioQueueRef) { unsafe self.reference = reference }
  }

  @safe struct Buffer: @unchecked Sendable {
    let reference: AudioQueueBufferRef
    init(_ reference: AudioQueueBufferRef) { unsafe self.reference = reference }
  }

  /// What a `PlaybackQueue` asks for sound: it calls its second argument once with the samples that
  /// follow the frame of the first.
  typealias Render = (_ frame: Int, _ use: (RawSpan) -> Void) -> Void

  /// What is to be said of packets in a buffer.
  struct Packets: Sendable {
    var descriptions: [AudioStreamPacketDescription] = []
    var trimmedAtStart: UInt32 = 0
    var trimmedAtEnd: UInt32 = 0
  }

  /// A render closure. It is called on one dispatch queue only.
  @safe private struct Renderer: @unchecked Sendable {
    let render: Render
    let place = DispatchQueue(label: "cuejack.render")
    static let key = DispatchSpecificKey<ObjectIdentifier>()
  }

  /// What the thread that renders has to say to one that waits for it.
  private final class Answer: Sendable {
    let isThere = DispatchSemaphore(value: 0)
    let result = Mutex(Result<Void, AudioQueueError>.success(()))
  }

  /// What calls that change what the queue does share. Never held while code of the program runs.
  private struct Control {
    var queue: Queue?
    var isDisposed = false
    /// The render closure is asked for more.
    var isRendering = false
    /// Frames that it has given in this run.
    var renderedFrames = 0
  }

  /// Runs and their ends, as far as they were asked for.
  private struct Runs {
    var started = 0
    var over = 0
    /// Ends that are on their way, one of a run that is yet to be started included.
    var ends = 0
    /// Something was enqueued that no end follows.
    var isOpen = false
    var isPaused = false
    /// Those who wait until so many runs are over.
    var waiters: [(target: Int, done: AsyncStream<Never>.Continuation)] = []

    var current: Int { started - over }

    mutating func markEnd() {
      if current > ends || isOpen { ends += 1 }
      isOpen = false
    }

    mutating func finish(_ count: Int) {
      over += count
      ends = max(ends - count, 0)
      if current == 0 { isPaused = false }
      waiters.removeAll { waiter in
        if waiter.target <= over { waiter.done.finish() }
        return waiter.target <= over
      }
    }
  }

  /// One who hears of changes of a property.
  private struct Observer {
    let property: AudioQueuePropertyID
    let changed: @Sendable (Queue) -> Void
    let finish: @Sendable () -> Void
  }
  private struct Observers {
    var lastID = 0
    var all: [Int: Observer] = [:]
    /// Properties that the C API tells us of.
    var properties: Set<AudioQueuePropertyID> = []
    var isOver = false
  }

  /// The listeners of the C API find theirs by a number, which may be stale.
  private static let all = HandleTable<PlaybackCore>()

  let bytesPerFrame: Int
  let bufferFrames: Int
  /// Buffers that are not enqueued.
  private let free = Pool<Buffer>()
  /// The right to write: one piece after another, each whole.
  private let turn = Pool<Void>()
  private let renderer: Renderer?
  private let callbacks = DispatchQueue(label: "cuejack.playback")
  private let control = Mutex(Control())
  private let runs = Mutex(Runs())
  private let observers = Mutex(Observers())
  private let number = Mutex<UInt>(0)

  init(bytesPerFrame: Int, bufferFrames: Int, render: sending Render?) {
    self.bytesPerFrame = bytesPerFrame
    self.bufferFrames = bufferFrames
    renderer = render.map { Renderer(render: $0) }
    renderer?.place.setSpecific(key: Renderer.key, value: ObjectIdentifier(self))
    turn.give(())
  }

  /// Makes the queue and its buffers. If this throws, `close` is to be called all the same.
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

  /// Ends the queue at once.
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

  /// The queue, for calls that may come at any time.
  var queue: Queue { control.withLock { $0.queue! } }

  /// Runs `body` alone among the calls that change what the queue does.
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
      let isNew = runs.withLock { runs in
        // Another run would follow this one, and there is nothing for it to play.
        let isPointless =
          renderer != nil && !control.isRendering && !runs.isPaused && runs.ends <= runs.current
        if isPointless { return nil as Bool? }
        let isNew = !runs.isPaused && runs.ends >= runs.current
        // Before the call: a short run may be over when it returns.
        if isNew { runs.started += 1 }
        return isNew
      }
      guard let isNew else { return }
      let status =
        if let time { unsafe AudioQueueStart(queue.reference, [time]) } else {
          unsafe AudioQueueStart(queue.reference, nil)
        }
      if status != noErr, isNew { runs.withLock { $0.started -= 1 } }
      try check(status)
      runs.withLock { $0.isPaused = false }
    }
  }

  func pause() throws(AudioQueueError) {
    try controlled { (queue, _) throws(AudioQueueError) in
      try unsafe check(AudioQueuePause(queue.reference))
      runs.withLock { $0.isPaused = $0.current > 0 }
    }
  }

  func stop() throws(AudioQueueError) {
    try controlled { (queue, control) throws(AudioQueueError) in
      control.isRendering = false
      try unsafe check(AudioQueueStop(queue.reference, true))
      // What the runs that have ended had to tell is told, before there are others.
      callbacks.sync {}
      runs.withLock { runs in
        runs.finish(runs.current)
        runs.ends = 0
        runs.isOpen = false
      }
    }
  }

  /// Has the run end with what is enqueued.
  ///
  /// - Returns: How many runs are over then.
  func stopAfterPlaying() throws(AudioQueueError) -> Int {
    try controlled { (queue, control) throws(AudioQueueError) in
      try stopAfterPlaying(queue, &control)
    }
  }

  private func stopAfterPlaying(_ queue: Queue, _ control: inout Control)
    throws(AudioQueueError) -> Int
  {
    control.isRendering = false
    let started = runs.withLock { runs in
      runs.markEnd()
      return runs.started
    }
    try unsafe check(AudioQueueStop(queue.reference, false))
    return started
  }

  /// Runs that were started so far.
  var startedRuns: Int { runs.withLock { $0.started } }

  /// Waits until so many runs are over, or the task is cancelled.
  func waitForEnd(ofRun run: Int) async {
    let (stream, done) = AsyncStream<Never>.makeStream()
    runs.withLock { runs in
      if runs.over >= run { done.finish() } else { runs.waiters.append((run, done)) }
    }
    for await _ in stream {}
  }

  func reset() throws(AudioQueueError) {
    try controlled { (queue, _) throws(AudioQueueError) in
      try unsafe check(AudioQueueReset(queue.reference))
      runs.withLock { runs in
        if runs.current == 0 { runs.ends = 0 }
        runs.isOpen = false
      }
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

  // MARK: Sound

  /// True if a closure makes the sound.
  var renders: Bool { renderer != nil }

  private func bufferDone(_ buffer: Buffer) {
    free.give(buffer)
    // Not here: a closure that takes long would hold up the queue's calls.
    renderer?.place.async { [self] in
      do throws(AudioQueueError) { try fill() } catch { log.debug("rendering ends: \(error)") }
    }
  }

  /// Runs `body`, which writes pieces, when those who came before have written theirs.
  func inTurn(_ body: () async throws(AudioQueueError) -> Void) async throws(AudioQueueError) {
    guard await turn.take() != nil else { throw .cancelled }
    defer { turn.give(()) }
    try await body()
  }

  /// Takes a buffer, when one is free, and enqueues it with the bytes that `body` gives.
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

  /// Enqueues a buffer with these bytes.
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
    runs.withLock { $0.isOpen = true }
  }

  /// Has the closure fill every free buffer before this returns. Inside the closure it does nothing:
  /// there the rest follow when the closure returns.
  private func render() throws(AudioQueueError) {
    guard let place = renderer?.place else { return }
    let isInside = DispatchQueue.getSpecific(key: Renderer.key) == ObjectIdentifier(self)
    if isInside { return try beginRendering() }
    // Not `sync`, which would call the closure on this thread.
    let answer = Answer()
    place.async { [self] in
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
    try controlled { (_, control) in
      if control.isRendering || runs.withLock({ $0.isPaused }) { return }
      control.isRendering = true
      control.renderedFrames = 0
    }
  }

  /// Has the closure fill the free buffers, while it has something to give. On its dispatch queue.
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

  /// Enqueues what the closure has given; ends the run if that is nothing.
  ///
  /// - Returns: False if nothing was enqueued.
  private func give(_ bytes: RawSpan, in buffer: Buffer) throws(AudioQueueError)
    -> Bool
  {
    try controlled { (queue, control) throws(AudioQueueError) in
      // Stopped in the meantime: this is not wanted any more.
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

  /// Has `changed` called after each change of a property, and `finish` when the queue is gone.
  ///
  /// - Returns: What `removeObserver` takes.
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

  /// Has the C API tell us of a property's changes, once.
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
    if property == kAudioQueueProperty_IsRunning,
      (try? PlaybackQueue.Property.isRunning.read(queue)) == false
    {
      runs.withLock { if $0.current > 0 { $0.finish(1) } }
    }
    let told = observers.withLock { $0.all.values.filter { $0.property == property } }
    for observer in told { observer.changed(queue) }
  }
}
