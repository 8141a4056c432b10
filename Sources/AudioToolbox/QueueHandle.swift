import AudioQueue
import CAudioToolbox
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
    init(_ pointer: UnsafeMutablePointer<AudioQueueBuffer>) { unsafe self.pointer = pointer }

    func free() {
      unsafe pointer.pointee.mPacketDescriptions?.deallocate()
      unsafe pointer.deallocate()
    }
  }

  private struct State {
    /// The app's buffers by their number in the queue.
    var headers: [UInt32: Header] = [:]
    /// The numbers by the addresses of the headers.
    var ids: [UInt: UInt32] = [:]
    var listeners: [Listener] = []
    var magicCookie: [UInt8] = []
  }

  /// All queues that have not been disposed of.
  static let all = HandleTable<QueueHandle>()

  let queue: OutputQueue
  /// The format as the app gave it, complete.
  let description: AudioStreamBasicDescription
  private let state = Mutex(State())
  /// The number of the queue's tap.
  let tap = Mutex<UInt?>(nil)

  init(
    _ description: AudioStreamBasicDescription, handle: UInt, callingBackOn place: CallbackPlace,
    _ callback: Callback
  ) throws(QueueError) {
    guard let format = PCMFormat(description) else { throw .unsupportedFormat }
    self.description = format.streamDescription
    // The closures look the handle up: an object that they held would hold them.
    queue = try OutputQueue(
      format,
      options: OutputQueue.Options(clientName: Self.programName),
      server: JackServer(), callingBackOn: place,
      OutputQueue.Handlers(
        bufferDone: { _, id in
          guard let this = Self.all.object(handle), let header = unsafe this.header(ofBuffer: id),
            let reference = unsafe AudioQueueRef(bitPattern: handle)
          else { return }
          // The header lives as long as this object, even if the queue is disposed of meanwhile.
          withExtendedLifetime(this) {
            switch callback {
            case .function(let function, let userData):
              unsafe function(userData, reference, header)
            case .block(let block): unsafe block(reference, header)
            }
          }
        },
        changed: { _, change in Self.all.object(handle)?.tell(change, as: handle) }))
    queue.whenDisposed { Self.all.remove(handle)?.forgetTap() }
  }

  deinit {
    state.withLock { state in
      for header in state.headers.values { header.free() }
    }
  }

  /// The name of a client: the program's.
  private static var programName: String {
    let path = CommandLine.arguments.first ?? ""
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    return name.isEmpty ? "cuejack" : name
  }

  // MARK: Buffers

  /// Makes a buffer with room for `capacity` bytes and `descriptions` packet descriptions.
  func allocateBuffer(capacity: Int, descriptions: Int) throws(QueueError)
    -> UnsafeMutablePointer<AudioQueueBuffer>
  {
    let buffer = try queue.allocateBuffer(capacity: capacity)
    var packets: UnsafeMutablePointer<AudioStreamPacketDescription>?
    if descriptions > 0 {
      unsafe packets = .allocate(capacity: descriptions)
      unsafe packets?.initialize(
        repeating: AudioStreamPacketDescription(), count: descriptions)
    }
    let header = UnsafeMutablePointer<AudioQueueBuffer>.allocate(capacity: 1)
    unsafe header.initialize(
      to: AudioQueueBuffer(
        mAudioDataBytesCapacity: UInt32(capacity), mAudioData: buffer.data.baseAddress!,
        mAudioDataByteSize: 0, mUserData: nil, mPacketDescriptionCapacity: UInt32(descriptions),
        mPacketDescriptions: packets, mPacketDescriptionCount: 0))
    state.withLock { state in
      state.headers[buffer.id] = unsafe Header(header)
      state.ids[UInt(bitPattern: header)] = buffer.id
    }
    return unsafe header
  }

  func freeBuffer(_ header: UnsafeMutablePointer<AudioQueueBuffer>) throws(QueueError) {
    guard let id = unsafe id(of: header) else { throw .invalidBuffer }
    try queue.freeBuffer(id)
    state.withLock { state in
      state.ids[UInt(bitPattern: header)] = nil
      state.headers.removeValue(forKey: id)?.free()
    }
  }

  /// The number of the app's buffer; nil if it is not this queue's. Does not follow the pointer.
  func id(of header: UnsafeMutablePointer<AudioQueueBuffer>) -> UInt32? {
    state.withLock { $0.ids[UInt(bitPattern: header)] }
  }

  private func header(ofBuffer id: UInt32) -> UnsafeMutablePointer<AudioQueueBuffer>? {
    unsafe state.withLock { $0.headers[id] }?.pointer
  }

  /// What the app gave for a decoder. Linear PCM has no use for it.
  var magicCookie: [UInt8] {
    get { state.withLock { $0.magicCookie } }
    set { state.withLock { $0.magicCookie = newValue } }
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

  private func tell(_ change: QueueChange, as handle: UInt) {
    guard let reference = unsafe AudioQueueRef(bitPattern: handle) else { return }
    for property in QueueProperty.all where property.change == change {
      for listener in state.withLock({ $0.listeners }) where listener.property == property.id {
        unsafe listener.function(listener.userData, reference, property.id)
      }
    }
  }
}
