import AudioQueue
import AudioUnits
import CAudioToolbox
import CoreFoundation
import Glibc
import Hardware
import Synchronization

/// The functions that the app wants called when the audio session changes. Any thread.
///
/// They are called one after another on the run loop of AudioSessionInitialize, or on a thread of the
/// library if that loop does not run.
final class AudioSessionListeners: Sendable {
  static let shared = AudioSessionListeners()

  /// The app's function for interruptions, and its data.
  @safe struct Interruption: @unchecked Sendable {
    let function: AudioSessionInterruptionListener
    let data: UnsafeMutableRawPointer?
  }

  @safe private struct Listener: @unchecked Sendable {
    let id: AudioSessionPropertyID
    let function: AudioSessionPropertyListener
    let data: UnsafeMutableRawPointer?

    func isSame(_ id: AudioSessionPropertyID, _ function: UInt, _ data: UInt) -> Bool {
      unsafe self.id == id && unsafeBitCast(self.function, to: UInt.self) == function
        && UInt(bitPattern: self.data) == data
    }
  }

  /// A value for property listeners.
  private enum Payload: Sendable {
    case number(UInt32)
    case float(Float32)
    case dictionary(SentDictionary)
  }
  /// Nothing changes the dictionary any more.
  private struct SentDictionary: @unchecked Sendable { let dictionary: CFDictionary }

  private enum Call: Sendable {
    case interruption(state: UInt32)
    case property(AudioSessionPropertyID, Payload)
  }

  private struct State {
    var context: (any CallbackContext)?
    var interruption: Interruption?
    /// The thread that tells the end of an interruption.
    var endingThread: pthread_t?
  }
  private let state = Mutex(State())
  private let listeners = ListenerList<Listener>("a listener of the audio session")
  private let pending = PendingCalls<Call>()

  // MARK: Adding and removing

  /// Sets the run loop and the app's function for interruptions.
  ///
  /// - Returns: False if they have been set before.
  func begin(_ loop: CFRunLoop, mode: CFString, _ interruption: Interruption?) -> Bool {
    let isFirst = state.withLock { $0.context == nil }
    guard isFirst else { return false }
    let context = makeCallbackContext(.runLoop(loop, mode: mode)) { [weak self] in self?.deliver() }
    let isSet = state.withLock { state in
      guard state.context == nil else { return false }
      state.context = context
      state.interruption = interruption
      return true
    }
    if !isSet { context.invalidate() }
    return isSet
  }

  /// True once `begin` has been called.
  var hasBegun: Bool { state.withLock { $0.context != nil } }

  /// Adds a function, unless it is there with the same data.
  func add(
    _ function: @escaping AudioSessionPropertyListener, _ data: UnsafeMutableRawPointer?,
    to id: AudioSessionPropertyID
  ) {
    let identity = unsafe (unsafeBitCast(function, to: UInt.self), UInt(bitPattern: data))
    let listener = unsafe Listener(id: id, function: function, data: data)
    let isNew = listeners.add(listener) { $0.isSame(id, identity.0, identity.1) }
    if isNew { AudioSession.shared.beginListening() }
  }

  /// Removes a function with its data, or all functions of a property. No call of them begins
  /// afterwards.
  func remove(_ listener: (function: UInt, data: UInt)?, from id: AudioSessionPropertyID) {
    let removed = listeners.remove { other in
      listener.map { other.isSame(id, $0.function, $0.data) } ?? (other.id == id)
    }
    for _ in removed { AudioSession.shared.endListening() }
  }

  /// True inside the app's function for interruptions, when one has ended.
  var isEndingInterruption: Bool { state.withLock { $0.endingThread == pthread_self() } }

  // MARK: Telling

  /// Tells the app of an event.
  func tell(_ event: AudioSessionEvent) {
    switch event {
    case .interruptionBegan:
      send([
        .interruption(state: kAudioSessionBeginInterruption),
        .property(kAudioSessionProperty_ServerDied, .number(1)),
      ])
    case .interruptionEnded: send([.interruption(state: kAudioSessionEndInterruption)])
    case .routeChanged(let reason, let old, let new):
      let server = AudioSession.shared.device.serverName
      let change = SentDictionary(
        dictionary: routeChange(reason, old: old, new: new, server: server))
      send([.property(kAudioSessionProperty_AudioRouteChange, .dictionary(change))])
    case .inputsChanged(let old, let new):
      send([
        .property(kAudioSessionProperty_CurrentHardwareInputNumberChannels, .number(UInt32(new)))
      ])
      if (old > 0) != (new > 0) {
        send([.property(kAudioSessionProperty_AudioInputAvailable, .number(new > 0 ? 1 : 0))])
      }
    case .outputsChanged(let count):
      send([
        .property(kAudioSessionProperty_CurrentHardwareOutputNumberChannels, .number(UInt32(count)))
      ])
    case .volumeChanged(let volume):
      send([.property(kAudioSessionProperty_CurrentHardwareOutputVolume, .float(volume))])
    }
  }

  private func send(_ calls: [Call]) {
    pending.add(calls, context: state.withLock { $0.context }) { [self] in deliver() }
  }

  private func deliver() {
    pending.deliver { call in
      switch call {
      case .interruption(let interruptionState): tellInterruption(interruptionState)
      case .property(let id, let payload): tell(id, payload)
      }
    }
  }

  private func tellInterruption(_ interruptionState: UInt32) {
    guard let interruption = state.withLock({ $0.interruption }) else { return }
    if interruptionState == kAudioSessionEndInterruption {
      state.withLock { $0.endingThread = pthread_self() }
    }
    unsafe interruption.function(interruption.data, interruptionState)
    state.withLock { $0.endingThread = nil }
  }

  private func tell(_ id: AudioSessionPropertyID, _ payload: Payload) {
    for entry in listeners.entries(where: { $0.id == id }) {
      listeners.call(entry.number) { listener in
        switch payload {
        case .number(let value): call(listener, value)
        case .float(let value): call(listener, value)
        case .dictionary(let sent):
          withExtendedLifetime(sent.dictionary) {
            unsafe listener.function(
              listener.data, id, UInt32(MemoryLayout<UInt>.size),
              Unmanaged.passUnretained(sent.dictionary).toOpaque())
          }
        }
      }
    }
  }

  private func call<Value: BitwiseCopyable>(_ listener: Listener, _ value: Value) {
    unsafe withUnsafeBytes(of: value) { bytes in
      unsafe listener.function(listener.data, listener.id, UInt32(bytes.count), bytes.baseAddress)
    }
  }
}
