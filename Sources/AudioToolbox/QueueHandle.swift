import AudioQueue
import CAudioToolbox
import Codecs
import Glibc
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
    var listeners: [Listener] = []
    var channelLayout: ChannelLayout
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
    set(\.channelLayout, to: layout, announcing: .channelLayout)
  }

  /// Which kind of codec to use.
  var codecPolicy: UInt32 { state.withLock { $0.codecPolicy } }

  func setCodecPolicy(_ policy: UInt32) throws(QueueError) {
    guard policy <= kAudioQueueHardwareCodecPolicy_PreferHardware else {
      throw .invalidPropertyValue
    }
    try playbackQueue.checkNotPrimed()
    // No codec here is a piece of hardware.
    if policy == kAudioQueueHardwareCodecPolicy_UseHardwareOnly { throw .invalidCodecAccess }
    set(\.codecPolicy, to: policy, announcing: .codecPolicy)
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
    state.withLock { $0.listeners.append(listener) }
  }

  /// Takes one listener back that was added with the same arguments.
  ///
  /// - Returns: False if there is none.
  func removeListener(
    _ property: AudioQueuePropertyID, _ function: @escaping AudioQueuePropertyListenerProc,
    _ userData: UnsafeMutableRawPointer?
  ) -> Bool {
    let listener = unsafe Listener(property: property, function: function, userData: userData)
    return state.withLock { state in
      guard let index = state.listeners.lastIndex(of: listener) else { return false }
      state.listeners.remove(at: index)
      return true
    }
  }

  func tell(_ change: QueueChange, as handle: UInt) {
    guard let reference = unsafe AudioQueueRef(bitPattern: handle) else { return }
    for property in QueueProperty.all where property.change == change {
      for listener in state.withLock({ $0.listeners }) where listener.property == property.id {
        unsafe listener.function(listener.userData, reference, property.id)
      }
    }
  }
}
