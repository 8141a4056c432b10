import AudioQueue
import CAudioToolbox
import Codecs
import Glibc
import RealTime
import Server
import Synchronization
import System

/// The object behind an `AudioQueueRef`: a queue and the state that only the C API needs.
@safe
final class QueueHandle: @unchecked Sendable {
  /// The app's callback for a buffer that has been played.
  @safe enum Callback: @unchecked Sendable {
    case function(AudioQueueOutputCallback, userData: UnsafeMutableRawPointer?)
    case block(AudioQueueOutputCallbackBlock)
  }

  @safe private struct Listener: Equatable, @unchecked Sendable {
    let property: AudioQueuePropertyID
    let function: AudioQueuePropertyListenerProc
    let userData: UnsafeMutableRawPointer?

    static func == (a: Listener, b: Listener) -> Bool {
      unsafe a.property == b.property && a.userData == b.userData
        && unsafeBitCast(a.function, to: UInt.self) == unsafeBitCast(b.function, to: UInt.self)
    }
  }

  /// The C structure of a buffer.
  @safe private struct Header: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<AudioQueueBuffer>
    /// Keeps the memory alive that the header points to.
    let buffer: QueueBuffer
    init(_ pointer: UnsafeMutablePointer<AudioQueueBuffer>, _ buffer: QueueBuffer) {
      unsafe self.pointer = pointer
      self.buffer = buffer
    }

    func free() {
      unsafe Glibc.free(pointer.pointee.mPacketDescriptions)
      unsafe pointer.deallocate()
    }
  }

  private struct State {
    /// The headers by buffer number.
    var headers: [UInt32: Header] = [:]
    /// The buffer numbers by header address.
    var ids: [UInt: UInt32] = [:]
    var channelLayout: ChannelLayout
    /// The offline render format and its channel layout.
    var offline: (format: PCMFormat, layout: ChannelLayout)?
    var codecPolicy = kAudioQueueHardwareCodecPolicy_Default
    /// The header passed to the callback in progress, and whether the app has freed it meanwhile.
    var lent: (id: UInt32, isFreed: Bool)?
  }

  /// The table of all queues that have not been disposed of.
  static let all = HandleTable<QueueHandle>()

  let queue: any Queue
  /// The app's stream description with every field filled in.
  let description: AudioStreamBasicDescription
  /// The queue's timelines.
  let timelines = HandleTable<QueueTimeline>()
  private let state: Mutex<State>
  private let listeners = ListenerList<Listener>("a property listener that was removed")
  /// The handle of the queue's tap; nil if there is none.
  let tap = Mutex<UInt?>(nil)

  init(_ queue: any Queue, handle: UInt) {
    self.queue = queue
    description = queue.streamFormat.streamDescription
    state = Mutex(State(channelLayout: ChannelLayout(channels: queue.format.channels)))
    queue.whenDisposed {
      Self.all.remove(handle)?.forgetTap()
      QueueRoutes.shared.forget(handle)
    }
  }

  /// The queue as a playback queue. Throws if it is a recording queue.
  var playbackQueue: OutputQueue {
    get throws(QueueError) {
      guard let queue = queue as? OutputQueue else { throw .wrongQueueType }
      return queue
    }
  }

  /// Returns the stream format for a description. Throws if queues do not support it.
  static func format(of description: AudioStreamBasicDescription) throws(QueueError)
    -> StreamFormat
  {
    if let format = StreamFormat(description) { return format }
    let hasCodec = Codec(formatID: description.mFormatID) != nil
    throw description.isCompressed && !hasCodec ? .codecNotFound : .unsupportedFormat
  }

  /// Creates a playback queue.
  static func playing(
    _ description: AudioStreamBasicDescription, handle: UInt,
    callingBackOn executor: CallbackExecutor,
    _ callback: Callback
  ) throws(QueueError) -> QueueHandle {
    let format = try format(of: description)
    // The closures look the handle up: a captured object would be a reference cycle.
    let queue = try OutputQueue(
      format,
      options: OutputQueue.Options(clientName: clientName),
      server: JackServer(), callingBackOn: executor,
      OutputQueue.Handlers(
        bufferDone: { _, id in
          guard let this = Self.all.object(handle),
            let reference = unsafe AudioQueueRef(bitPattern: handle)
          else { return }
          unsafe this.lendHeader(ofBuffer: id) { header in
            switch callback {
            case .function(let function, let userData):
              unsafe function(userData, reference, header)
            case .block(let block): unsafe block(reference, header)
            }
          }
        },
        changed: { _, change in Self.all.object(handle)?.tell(change, as: handle) }))
    return QueueHandle(queue, handle: handle)
  }

  deinit {
    state.withLock { state in
      for header in state.headers.values { header.free() }
    }
  }

  // MARK: Buffers

  /// Allocates a buffer of `capacity` bytes with room for `descriptions` packet descriptions.
  func allocateBuffer(capacity: Int, descriptions: Int) throws(QueueError)
    -> UnsafeMutablePointer<AudioQueueBuffer>
  {
    var packets: UnsafeMutablePointer<AudioStreamPacketDescription>?
    if descriptions > 0 {
      // calloc() instead of allocate(): an oversized request must fail and not end the app.
      let memory = unsafe calloc(descriptions, MemoryLayout<AudioStreamPacketDescription>.stride)
      guard let memory = unsafe memory else { throw .outOfMemory }
      unsafe packets = memory.bindMemory(
        to: AudioStreamPacketDescription.self, capacity: descriptions)
    }
    let buffer: QueueBuffer
    do throws(QueueError) {
      buffer = try queue.allocateBuffer(capacity: capacity, packets: descriptions)
    } catch {
      unsafe free(packets)
      throw error
    }
    let header = UnsafeMutablePointer<AudioQueueBuffer>.allocate(capacity: 1)
    unsafe header.initialize(
      to: AudioQueueBuffer(
        mAudioDataBytesCapacity: UInt32(capacity), mAudioData: buffer.data.baseAddress!,
        mAudioDataByteSize: 0, mUserData: nil, mPacketDescriptionCapacity: UInt32(descriptions),
        mPacketDescriptions: packets, mPacketDescriptionCount: 0))
    state.withLock { state in
      state.headers[buffer.id] = unsafe Header(header, buffer)
      state.ids[UInt(bitPattern: header)] = buffer.id
    }
    // If another thread has disposed of the queue meanwhile, the buffer goes with it.
    try queue.checkNotDisposed()
    return unsafe header
  }

  func freeBuffer(_ header: UnsafeMutablePointer<AudioQueueBuffer>) throws(QueueError) {
    guard let id = unsafe id(of: header) else { throw .invalidBuffer }
    try queue.freeBuffer(id)
    state.withLock { state in
      state.ids[UInt(bitPattern: header)] = nil
      if state.lent?.id == id {
        state.lent?.isFreed = true
      } else {
        state.headers.removeValue(forKey: id)?.free()
      }
    }
  }

  /// Returns the number of a buffer; nil if it does not belong to this queue. Does not dereference
  /// the pointer.
  func id(of header: UnsafeMutablePointer<AudioQueueBuffer>) -> UInt32? {
    state.withLock { $0.ids[UInt(bitPattern: header)] }
  }

  /// Runs `body`, which calls the app back, with the header of a buffer. Does nothing if the buffer
  /// was freed.
  ///
  /// The header and its memory live until `body` returns, even if another call frees the buffer or
  /// disposes of the queue. One call at a time.
  func lendHeader(ofBuffer id: UInt32, _ body: (UnsafeMutablePointer<AudioQueueBuffer>) -> Void) {
    let header = state.withLock { state in
      let header = state.headers[id]
      if header != nil { state.lent = (id, isFreed: false) }
      return header
    }
    guard let header else { return }
    unsafe body(header.pointer)
    state.withLock { state in
      if let lent = state.lent, lent.isFreed { state.headers.removeValue(forKey: lent.id)?.free() }
      state.lent = nil
    }
  }

  // MARK: Properties of the C API

  /// The channel layout of the queue's format.
  var channelLayout: ChannelLayout { state.withLock { $0.channelLayout } }

  func setChannelLayout(_ layout: ChannelLayout) throws(QueueError) {
    guard layout.channels == queue.format.channels else { throw .invalidPropertyValue }
    try queue.checkIdle()
    try queue.setPortOrder(layout.portOrder)
    if let offline = state.withLock({ $0.offline }) {
      let mix = layout.renderingMix(to: offline.layout)
      try playbackQueue.setOfflineFormat(offline.format, mix: mix)
    }
    set(\.channelLayout, to: layout, announcing: .channelLayout)
  }

  /// Selects offline rendering to a format with a channel layout, or with nil playback through the
  /// device.
  func setOfflineFormat(_ format: PCMFormat?, _ layout: ChannelLayout?) throws(QueueError) {
    let mix = layout.flatMap { channelLayout.renderingMix(to: $0) }
    try playbackQueue.setOfflineFormat(format, mix: mix)
    state.withLock { state in
      state.offline = format.flatMap { format in layout.map { (format, $0) } }
    }
  }

  /// The app's choice between hardware and software codecs.
  var codecPolicy: UInt32 { state.withLock { $0.codecPolicy } }

  func setCodecPolicy(_ policy: UInt32) throws(QueueError) {
    guard policy <= kAudioQueueHardwareCodecPolicy_PreferHardware else {
      throw .invalidPropertyValue
    }
    try queue.checkNotPrimed()
    set(\.codecPolicy, to: policy, announcing: .codecPolicy)
  }

  /// Throws if the policy requires a hardware codec: there are none. Linear PCM needs no codec.
  func checkCodec() throws(QueueError) {
    if codecPolicy == kAudioQueueHardwareCodecPolicy_UseHardwareOnly,
      case .packets = queue.streamFormat
    {
      throw .invalidCodecAccess
    }
  }

  private func set<Value: Equatable>(
    _ property: WritableKeyPath<State, Value>, to value: Value, announcing change: QueueChange
  ) {
    let isNew = state.withLock { state in
      defer { state[keyPath: property] = value }
      return state[keyPath: property] != value
    }
    if isNew { queue.announce(change) }
  }

  // MARK: Listeners

  func addListener(
    _ property: AudioQueuePropertyID, _ function: @escaping AudioQueuePropertyListenerProc,
    _ userData: UnsafeMutableRawPointer?
  ) {
    listeners.add(unsafe Listener(property: property, function: function, userData: userData))
  }

  /// Removes one listener that was added with the same arguments. No call of it begins afterwards.
  ///
  /// - Returns: False if there is no such listener.
  func removeListener(
    _ property: AudioQueuePropertyID, _ function: @escaping AudioQueuePropertyListenerProc,
    _ userData: UnsafeMutableRawPointer?
  ) -> Bool {
    let listener = unsafe Listener(property: property, function: function, userData: userData)
    return listeners.removeLast { $0 == listener }
  }

  /// Calls the listeners of a change. Skips listeners that another listener removes meanwhile, and
  /// stops once the queue has been disposed of. One call at a time.
  func tell(_ change: QueueChange, as handle: UInt) {
    guard let reference = unsafe AudioQueueRef(bitPattern: handle) else { return }
    let id = change.property
    for entry in listeners.entries(where: { $0.property == id }) {
      do throws(QueueError) { try queue.checkNotDisposed() } catch { return }
      listeners.call(entry.number) { listener in
        unsafe listener.function(listener.userData, reference, id)
      }
    }
  }
}
