import AudioQueue
import CAudioToolbox
import CoreFoundation
import MIDI
import Synchronization

/// Tells a program's function or block of changes of the setup.
final class MIDINotifier: Sendable {
  @safe private struct Receiver: @unchecked Sendable {
    let call: (UnsafePointer<MIDINotification>) -> Void
  }
  private let receiver: Receiver
  private let isOver = Atomic<Bool>(false)
  private let pending = PendingCalls<MIDIChange>()
  private let context = Mutex<(any CallbackContext)?>(nil)

  /// A notifier that calls a block at once, on the thread that tells of a change.
  init(calling block: @escaping MIDINotifyBlock) {
    receiver = unsafe Receiver { unsafe block($0) }
  }

  /// A notifier that calls a function on the run loop of the calling thread.
  init(calling function: @escaping MIDINotifyProc, _ refCon: UnsafeMutableRawPointer?) {
    receiver = unsafe Receiver { unsafe function($0, refCon) }
    guard let loop = CFRunLoopGetCurrent() else { return }
    let context = makeCallbackContext(.runLoop(loop, mode: nil)) { [weak self] in self?.deliver() }
    self.context.withLock { $0 = context }
  }

  deinit { context.withLock { $0?.invalidate() } }

  /// Ends all calls, but for one that has begun.
  func end() {
    isOver.store(true, ordering: .releasing)
    pending.removeAll()
  }

  func take(_ changes: [MIDIChange]) {
    guard let context = context.withLock({ $0 }) else { return changes.forEach { tell($0) } }
    pending.add(changes, context: context) { [weak self] in self?.deliver() }
  }

  private func deliver() { pending.deliver { tell($0) } }

  private func tell(_ change: MIDIChange) {
    if !isOver.load(ordering: .acquiring) { send(change) }
  }

  private func send(_ change: MIDIChange) {
    switch change {
    case .added(let child, let parent): send(.msgObjectAdded, child, parent)
    case .removed(let child, let parent): send(.msgObjectRemoved, child, parent)
    case .property(let object, let name):
      let string = name.cfString
      withExtendedLifetime(string) {
        var message = unsafe MIDIObjectPropertyChangeNotification(
          messageID: .msgPropertyChanged,
          messageSize: UInt32(MemoryLayout<MIDIObjectPropertyChangeNotification>.size),
          object: object.reference, objectType: object.type,
          propertyName: Unmanaged.passUnretained(string))
        unsafe send(&message)
      }
    case .setup: sendPlain(.msgSetupChanged)
    case .thruConnections: sendPlain(.msgThruConnectionsChanged)
    }
  }

  private func sendPlain(_ id: MIDINotificationMessageID) {
    var message = MIDINotification(
      messageID: id, messageSize: UInt32(MemoryLayout<MIDINotification>.size))
    unsafe send(&message)
  }

  private func send(_ id: MIDINotificationMessageID, _ child: MIDIObject, _ parent: MIDIObject?) {
    var message = MIDIObjectAddRemoveNotification(
      messageID: id, messageSize: UInt32(MemoryLayout<MIDIObjectAddRemoveNotification>.size),
      parent: parent?.reference ?? 0, parentType: parent?.type ?? .other,
      child: child.reference, childType: child.type)
    unsafe send(&message)
  }

  /// Calls the program with a message, which begins as `MIDINotification` does.
  private func send<Message: BitwiseCopyable>(_ message: UnsafeMutablePointer<Message>) {
    let plain = unsafe UnsafeRawPointer(message).assumingMemoryBound(to: MIDINotification.self)
    unsafe receiver.call(plain)
  }
}

extension MIDIObject {
  var type: MIDIObjectType {
    switch self {
    case is MIDIDevice: .device
    case is MIDIEntity: .entity
    case let endpoint as MIDIEndpoint: endpoint.isSource ? .source : .destination
    default: .other
    }
  }
}
