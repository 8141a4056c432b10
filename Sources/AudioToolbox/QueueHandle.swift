import AudioQueue
import CAudioToolbox
import Codecs
import Glibc
import Logging
import RealTime
import Server
import Synchronization

/// What an `AudioQueueRef` stands for: a queue, and what only the C interface knows of it.
@safe
final class QueueHandle: @unchecked Sendable {
  /// How the app is called with a buffer that has been played.
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

  /// What the app knows of a buffer.
  @safe private struct Header: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<AudioQueueBuffer>
    /// Holds the memory that the header points to.
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
    /// The app's buffers by their number in the queue.
    var headers: [UInt32: Header] = [:]
    /// The numbers by the addresses of the headers.
    var ids: [UInt: UInt32] = [:]
    /// In the order in which they were added; the number tells equal ones apart.
    var listeners: [(number: UInt64, listener: Listener)] = []
    var nextListener: UInt64 = 0
    /// The number of the listener that is being called, and the thread that calls it.
    var calling: (number: UInt64, thread: pthread_t)?
    var channelLayout: ChannelLayout
    /// The format that the queue renders to, and what its channels are for.
    var offline: (format: PCMFormat, layout: ChannelLayout)?
    var codecPolicy = kAudioQueueHardwareCodecPolicy_Default
    /// The header that the app is being called back with, and whether it was freed meanwhile.
    var lent: (id: UInt32, isFreed: Bool)?
  }

  /// All queues that have not been disposed of.
  static let all = HandleTable<QueueHandle>()

  let queue: any Queue
  /// The format as the app gave it, complete.
  let description: AudioStreamBasicDescription
  /// The queue's timelines.
  let timelines = HandleTable<QueueTimeline>()
  private let state: Mutex<State>
  /// The number of the queue's tap.
  let tap = Mutex<UInt?>(nil)

  init(_ queue: any Queue, handle: UInt) {
    self.queue = queue
    description = queue.streamFormat.streamDescription
    state = Mutex(State(channelLayout: ChannelLayout(channels: queue.format.channels)))
    queue.whenDisposed { Self.all.remove(handle)?.forgetTap() }
  }

  /// The queue, if it plays.
  var playbackQueue: OutputQueue {
    get throws(QueueError) {
      guard let queue = queue as? OutputQueue else { throw .wrongQueueType }
      return queue
    }
  }

  /// What a description says, if it is one that queues take.
  static func format(of description: AudioStreamBasicDescription) throws(QueueError)
    -> StreamFormat
  {
    if let format = StreamFormat(description) { return format }
    let hasCodec = Codec(formatID: description.mFormatID) != nil
    throw description.isCompressed && !hasCodec ? .codecNotFound : .unsupportedFormat
  }

  /// A queue that plays.
  static func playing(
    _ description: AudioStreamBasicDescription, handle: UInt, callingBackOn place: CallbackPlace,
    _ callback: Callback
  ) throws(QueueError) -> QueueHandle {
    let format = try format(of: description)
    // The closures look the handle up: an object that they held would hold them.
    let queue = try OutputQueue(
      format,
      options: OutputQueue.Options(clientName: Self.programName),
      server: JackServer(), callingBackOn: place,
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

  /// The name of a client: the program's.
  static var programName: String {
    let path = CommandLine.arguments.first ?? ""
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    return name.isEmpty ? "cuejack" : name
  }

  // MARK: Buffers

  /// Makes a buffer with room for `capacity` bytes and `descriptions` packet descriptions.
  func allocateBuffer(capacity: Int, descriptions: Int) throws(QueueError)
    -> UnsafeMutablePointer<AudioQueueBuffer>
  {
    var packets: UnsafeMutablePointer<AudioStreamPacketDescription>?
    if descriptions > 0 {
      // calloc rather than allocate(): a number that an app got wrong must not end it.
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
    // A queue that another thread disposed of meanwhile takes the buffer with it.
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

  /// The number of the app's buffer; nil if it is not this queue's. Does not follow the pointer.
  func id(of header: UnsafeMutablePointer<AudioQueueBuffer>) -> UInt32? {
    state.withLock { $0.ids[UInt(bitPattern: header)] }
  }

  /// Runs `body`, which calls the app back, with the header of a buffer, if it has not been freed.
  ///
  /// The header and its memory live until `body` has returned, whoever frees the buffer or disposes of the queue
  /// meanwhile. One call at a time.
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

  // MARK: Properties that only the C interface knows

  /// What the channels are for.
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

  /// Has the queue render to a format, whose channels are for what `layout` says; nil has it play again.
  func setOfflineFormat(_ format: PCMFormat?, _ layout: ChannelLayout?) throws(QueueError) {
    let mix = layout.flatMap { channelLayout.renderingMix(to: $0) }
    try playbackQueue.setOfflineFormat(format, mix: mix)
    state.withLock { state in
      state.offline = format.flatMap { format in layout.map { (format, $0) } }
    }
  }

  /// Which kind of codec to use.
  var codecPolicy: UInt32 { state.withLock { $0.codecPolicy } }

  func setCodecPolicy(_ policy: UInt32) throws(QueueError) {
    guard policy <= kAudioQueueHardwareCodecPolicy_PreferHardware else {
      throw .invalidPropertyValue
    }
    try queue.checkNotPrimed()
    set(\.codecPolicy, to: policy, announcing: .codecPolicy)
  }

  /// Throws if the policy asks for a codec that there is not: none here is a piece of hardware. Linear PCM
  /// needs no codec.
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
    let listener = unsafe Listener(property: property, function: function, userData: userData)
    state.withLock { state in
      state.listeners.append((state.nextListener, listener))
      state.nextListener += 1
    }
  }

  /// Takes one listener back that was added with the same arguments. No call of it begins afterwards; one
  /// that another thread makes is waited for, for a second at most: it may wait for a lock that the caller
  /// holds.
  ///
  /// - Returns: False if there is none.
  func removeListener(
    _ property: AudioQueuePropertyID, _ function: @escaping AudioQueuePropertyListenerProc,
    _ userData: UnsafeMutableRawPointer?
  ) -> Bool {
    let listener = unsafe Listener(property: property, function: function, userData: userData)
    let removed = state.withLock { state in
      state.listeners.lastIndex { $0.listener == listener }.map {
        state.listeners.remove(at: $0).number
      }
    }
    guard let removed else { return false }
    let deadline = HostTime.now + 1_000_000_000
    while isCalledElsewhere(removed) {
      if HostTime.now > deadline {
        log.warning("a property listener that was removed has not returned for one second")
        break
      }
      usleep(200)
    }
    return true
  }

  /// True while another thread calls the listener of that number.
  private func isCalledElsewhere(_ number: UInt64) -> Bool {
    state.withLock { state in
      guard let calling = state.calling else { return false }
      return calling.number == number && calling.thread != pthread_self()
    }
  }

  /// Calls the listeners of a change, except those that another listener removes meanwhile; none any more
  /// once the queue has been disposed of. One call at a time.
  func tell(_ change: QueueChange, as handle: UInt) {
    guard let reference = unsafe AudioQueueRef(bitPattern: handle) else { return }
    for property in QueueProperty.all where property.change == change {
      let numbers = state.withLock { state in
        state.listeners.filter { $0.listener.property == property.id }.map(\.number)
      }
      for number in numbers {
        guard let listener = beginCall(of: number) else { continue }
        unsafe listener.function(listener.userData, reference, property.id)
        state.withLock { $0.calling = nil }
      }
    }
  }

  /// The listener of that number, which counts as being called from now on; nil if it must not be called.
  private func beginCall(of number: UInt64) -> Listener? {
    do throws(QueueError) { try queue.checkNotDisposed() } catch { return nil }
    return state.withLock { state in
      guard let entry = state.listeners.first(where: { $0.number == number }) else { return nil }
      state.calling = (number, pthread_self())
      return entry.listener
    }
  }
}
