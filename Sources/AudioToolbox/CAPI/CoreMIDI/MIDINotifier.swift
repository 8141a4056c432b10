import AudioQueue
import CAudioToolbox
import CoreFoundation
import Dispatch
import MIDI
import Synchronization

/// Tells a program's function or block of changes of the setup.
final class MIDINotifier: Sendable {
  @safe private struct Receiver: @unchecked Sendable {
    let call: (UnsafePointer<MIDINotification>) -> Void
  }
  private struct State {
    var pending: [MIDIChange] = []
    var isDelivering = false
    var isOver = false
  }
  private let receiver: Receiver
  private let state = Mutex(State())
  private let context = Mutex<(any CallbackContext)?>(nil)

  /// Milliseconds that a run loop gets to take a call before a thread of the library makes it.
  private static let patience = 100

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
    state.withLock { state in
      state.isOver = true
      state.pending = []
    }
  }

  func take(_ changes: [MIDIChange]) {
    state.withLock { if !$0.isOver { $0.pending += changes } }
    guard let context = context.withLock({ $0 }) else { return deliver() }
    context.wake()
    deliverLater(context)
  }

  /// Makes the calls on a thread of the library if the run loop does not run by then.
  private func deliverLater(_ context: any CallbackContext) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Self.patience)) {
      [weak self] in
      guard let self, state.withLock({ !$0.pending.isEmpty }) else { return }
      if context.isServed { deliverLater(context) } else { deliver() }
    }
  }

  /// Makes all pending calls, unless another thread makes them.
  private func deliver() {
    let isFree = state.withLock { state in
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
    guard isFree else { return }
    while let change = nextChange() { send(change) }
  }

  private func nextChange() -> MIDIChange? {
    state.withLock { state in
      if state.pending.isEmpty {
        state.isDelivering = false
        return nil
      }
      return state.pending.removeFirst()
    }
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
