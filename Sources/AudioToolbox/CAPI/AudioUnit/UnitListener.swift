import AudioQueue
import AudioUnits
public import CAudioToolbox
import CoreFoundation
import Dispatch
import Glibc
import Synchronization
import System
import Timeline

/// A kind of event of a parameter or property of a unit.
struct UnitEvent: Hashable, Sendable {
  let type: UInt32
  let unit: UInt
  let id: UInt32
  let scope: UInt32
  let element: UInt32

  /// Returns true if a listener of this event hears of `other`.
  func covers(_ other: UnitEvent) -> Bool {
    if type != other.type || unit != other.unit { return false }
    if type != AudioUnitEventType.propertyChange.rawValue {
      if id == UInt32(kAUParameterListener_AnyParameter) || other.id == .max { return true }
    }
    return id == other.id && scope == other.scope && element == other.element
  }

  init(type: UInt32, unit: UInt, id: UInt32, scope: UInt32, element: UInt32) {
    self.type = type
    self.unit = unit
    self.id = id
    self.scope = scope
    self.element = element
  }

  var parameter: AudioUnitParameter {
    unsafe AudioUnitParameter(
      mAudioUnit: AudioUnit(bitPattern: unit), mParameterID: id, mScope: scope, mElement: element)
  }

  init(
    _ parameter: AudioUnitParameter, type: AudioUnitEventType = .parameterValueChange
  ) {
    self.type = type.rawValue
    unit = UInt(bitPattern: unsafe parameter.mAudioUnit)
    id = unsafe parameter.mParameterID
    scope = unsafe parameter.mScope
    element = unsafe parameter.mElement
  }

  init(_ event: AudioUnitEvent) {
    // A property has the form of a parameter.
    unsafe self.init(unsafe event.mArgument.mParameter, type: unsafe event.mEventType)
  }

  var event: AudioUnitEvent {
    var event = unsafe AudioUnitEvent()
    unsafe event.mEventType = AudioUnitEventType(rawValue: type) ?? .propertyChange
    unsafe event.mArgument.mParameter = parameter
    return unsafe event
  }
}

/// A function of the app that hears of units' events, on its run loop or on a thread of the library.
@safe
final class UnitListener: @unchecked Sendable {
  @safe
  enum Function: @unchecked Sendable {
    case parameters(AUParameterListenerProc)
    case events(AUEventListenerProc)
  }
  private struct Subscription: Hashable {
    let object: UInt
    let event: UnitEvent
  }
  /// An event that waits to be told.
  private struct Notice {
    let subscription: Subscription
    /// For a parameter that was told of by the number for all.
    let event: UnitEvent
    var time: UInt64
    var value: Float
  }
  private struct State {
    var subscriptions: [Subscription] = []
    var waiting: [Notice] = []
    var isDue = false
    var calling: pthread_t?
    var isOver = false
  }
  private let state = Mutex(State())
  private let function: Function
  private let data: UnsafeMutableRawPointer?
  private let interval: Double
  private let granularity: Double
  private let context = Mutex<(any CallbackContext)?>(nil)
  private static let timers = DispatchQueue(label: "cuejack.unit-listeners")
  static let all = HandleTable<UnitListener>()

  init(
    _ function: Function, _ data: UnsafeMutableRawPointer?, _ executor: CallbackExecutor,
    interval: Double, granularity: Double
  ) {
    self.function = function
    unsafe self.data = data
    self.interval = interval
    self.granularity = granularity
    let context = makeCallbackContext(executor) { [weak self] in self?.deliver() }
    self.context.withLock { $0 = context }
  }

  func add(_ object: UInt, _ event: UnitEvent) {
    let isNew = state.withLock { state in
      let subscription = Subscription(object: object, event: event)
      let isNew = !state.subscriptions.contains { $0.event.hasProperty(of: event) }
      if !state.subscriptions.contains(subscription) { state.subscriptions.append(subscription) }
      return isNew
    }
    if isNew, event.isProperty { observe(event, true) }
  }

  func remove(_ object: UInt, _ event: UnitEvent) {
    let isLast = state.withLock { state in
      let subscription = Subscription(object: object, event: event)
      state.subscriptions.removeAll { $0 == subscription }
      state.waiting.removeAll { $0.subscription == subscription }
      return !state.subscriptions.contains { $0.event.hasProperty(of: event) }
    }
    if isLast, event.isProperty { observe(event, false) }
  }

  /// Hears of a property's changes from the unit, or no more.
  private func observe(_ event: UnitEvent, _ on: Bool) {
    guard let unit = unsafe try? UnitHandles.shared.unit(AudioUnit(bitPattern: event.unit)) else {
      return
    }
    let watcher: UnitHandle.Watcher = { [weak self] scope, element in
      self?.hear(event.inScope(scope, element), value: 0)
    }
    unit.observe(on ? watcher : nil, event.id, of: ObjectIdentifier(self))
  }

  /// Tells the app of an event.
  ///
  /// - Parameter sender: The object that has caused it, which is not told; nil for none of this listener.
  func hear(_ event: UnitEvent, value: Float, from sender: UInt? = nil) {
    let now = HostTime.now
    let wakes = state.withLock { state in
      if state.isOver { return false }
      var wakes = false
      for subscription in state.subscriptions where subscription.event.covers(event) {
        if subscription.object == sender { continue }
        let told = event.id == .max ? subscription.event : event
        // The latest change takes the place of an earlier one.
        let known = state.waiting.lastIndex {
          $0.subscription == subscription && $0.event == told
            && now &- $0.time < UInt64(held: granularity * 1e9) && told.isValueChange
        }
        if let known {
          state.waiting[known].value = value
          state.waiting[known].time = now
        } else {
          state.waiting.append(
            Notice(subscription: subscription, event: told, time: now, value: value))
        }
        wakes = true
      }
      if wakes && state.isDue { return false }
      state.isDue = state.isDue || wakes
      return wakes
    }
    guard wakes else { return }
    if interval > 0 {
      Self.timers.asyncAfter(deadline: .now() + interval) { [weak self] in self?.wake() }
    } else {
      wake()
    }
  }

  private func wake() { context.withLock { $0 }?.wake() }

  private func deliver() {
    let notices = state.withLock { state in
      state.isDue = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for notice in notices {
      let isWanted = state.withLock { state in
        guard !state.isOver, state.subscriptions.contains(notice.subscription) else { return false }
        state.calling = pthread_self()
        return true
      }
      guard isWanted else { continue }
      let object = unsafe UnsafeMutableRawPointer(bitPattern: notice.subscription.object)
      switch function {
      case .parameters(let proc):
        var parameter = unsafe notice.event.parameter
        unsafe proc(data, object, &parameter, notice.value)
      case .events(let proc):
        var event = unsafe notice.event.event
        unsafe proc(data, object, &event, notice.time, notice.value)
      }
      state.withLock { $0.calling = nil }
    }
  }

  /// Ends the listener. When this returns, it is not called, unless it is the caller.
  func end() {
    let events = state.withLock { state in
      state.isOver = true
      defer { state.subscriptions = [] }
      return Set(state.subscriptions.map(\.event))
    }
    for event in events where event.isProperty { observe(event, false) }
    context.withLock { context in
      context?.invalidate()
      context = nil
    }
    awaitReturn(of: "a listener of audio unit events") {
      state.withLock { $0.calling.map { $0 != pthread_self() } ?? false }
    }
  }

  /// Tells all listeners of an event.
  static func tell(
    _ event: UnitEvent, value: Float, from listener: AUEventListenerRef?,
    _ object: UnsafeMutableRawPointer?
  ) {
    let sender = UInt(bitPattern: listener)
    for (handle, other) in all.entries {
      other.hear(
        event, value: value, from: handle == sender ? UInt(bitPattern: object) : nil)
    }
  }
}

extension UnitEvent {
  var isProperty: Bool { type == AudioUnitEventType.propertyChange.rawValue }
  /// True for events of one property of one unit, whatever scope and element.
  func hasProperty(of other: UnitEvent) -> Bool {
    isProperty && other.isProperty && unit == other.unit && id == other.id
  }

  func inScope(_ scope: UInt32, _ element: UInt32) -> UnitEvent {
    UnitEvent(type: type, unit: unit, id: id, scope: scope, element: element)
  }

  var isValueChange: Bool {
    type == AudioUnitEventType.parameterValueChange.rawValue
  }

  /// The parameter's value; 0 for another event.
  var value: Float {
    guard isValueChange, id != .max, let unit = unsafe AudioUnit(bitPattern: unit) else { return 0 }
    var value: Float = 0
    _ = unsafe AudioUnitGetParameter(unit, id, scope, element, &value)
    return value
  }
}

// MARK: The functions of AudioUnitUtilities.h. The header documents each function.

private func listener(_ reference: AUEventListenerRef?) throws(AudioUnitError) -> UnitListener {
  guard let listener = UnitListener.all.object(UInt(bitPattern: reference)) else {
    throw .badArgument("there is no such listener")
  }
  return listener
}

private func make(
  _ function: UnitListener.Function, _ data: UnsafeMutableRawPointer?, _ loop: UnsafeRawPointer?,
  _ mode: UnsafeRawPointer?, _ interval: Float, _ granularity: Float
) -> AUEventListenerRef? {
  let executor = unsafe CallbackExecutor(runLoop: loop, mode: mode)
  let handle = UnitListener.all.add { _ in
    unsafe UnitListener(
      function, data, executor, interval: Double(max(0, interval)),
      granularity: Double(max(0, granularity)))
  }
  return unsafe AUEventListenerRef(bitPattern: handle)
}

/// Makes a listener of parameters.
///
/// The header's types of the run loop and its mode have no counterparts in Swift that a C function can have.
@c(AUListenerCreate)
public func createParameterListener(
  _ inProc: @escaping AUParameterListenerProc, _ inUserData: UnsafeMutableRawPointer?,
  _ inRunLoop: UnsafeRawPointer?, _ inRunLoopMode: UnsafeRawPointer?,
  _ inNotificationInterval: Float32,
  _ outListener: UnsafeMutablePointer<AUParameterListenerRef?>
) -> OSStatus {
  unsafe answer(
    "AUListenerCreate", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self), outListener
  ) { () throws(AudioUnitError) in
    unsafe outListener.pointee = make(
      .parameters(inProc), inUserData, inRunLoop, inRunLoopMode, inNotificationInterval, 1e6)
  }
}

/// Ends a listener.
@c @implementation
public func AUListenerDispose(_ inListener: AUParameterListenerRef?) -> OSStatus {
  guard unsafe inListener != nil else { return noErr }
  return answer("AUListenerDispose") { () throws(AudioUnitError) in
    let found = unsafe try listener(inListener)
    UnitListener.all.remove(UInt(bitPattern: inListener))
    found.end()
  }
}

/// Lets a listener hear of a parameter.
@c @implementation
public func AUListenerAddParameter(
  _ inListener: AUParameterListenerRef, _ inObject: UnsafeMutableRawPointer?,
  _ inParameter: UnsafePointer<AudioUnitParameter>
) -> OSStatus {
  unsafe answer("AUListenerAddParameter", needs: inParameter) { () throws(AudioUnitError) in
    unsafe try listener(inListener).add(UInt(bitPattern: inObject), UnitEvent(inParameter.pointee))
  }
}

/// Lets a listener hear of a parameter no more.
@c @implementation
public func AUListenerRemoveParameter(
  _ inListener: AUParameterListenerRef, _ inObject: UnsafeMutableRawPointer?,
  _ inParameter: UnsafePointer<AudioUnitParameter>
) -> OSStatus {
  unsafe answer("AUListenerRemoveParameter", needs: inParameter) { () throws(AudioUnitError) in
    unsafe try listener(inListener).remove(
      UInt(bitPattern: inObject), UnitEvent(inParameter.pointee))
  }
}

/// Sets a parameter and tells its listeners.
@c @implementation
public func AUParameterSet(
  _ inSendingListener: AUParameterListenerRef?, _ inSendingObject: UnsafeMutableRawPointer?,
  _ inParameter: UnsafePointer<AudioUnitParameter>, _ inValue: AudioUnitParameterValue,
  _ inBufferOffsetInFrames: UInt32
) -> OSStatus {
  if unsafe hasNull([inParameter]) { return kAudio_ParamError }
  let parameter = unsafe inParameter.pointee
  guard let unit = unsafe parameter.mAudioUnit else { return kAudio_ParamError }
  let status = unsafe AudioUnitSetParameter(
    unit, parameter.mParameterID, parameter.mScope, parameter.mElement, inValue,
    inBufferOffsetInFrames)
  if status != noErr { return status }
  unsafe UnitListener.tell(
    UnitEvent(parameter), value: inValue, from: inSendingListener, inSendingObject)
  return noErr
}

/// Tells of a parameter.
@c @implementation
public func AUParameterListenerNotify(
  _ inSendingListener: AUParameterListenerRef?, _ inSendingObject: UnsafeMutableRawPointer?,
  _ inParameter: UnsafePointer<AudioUnitParameter>
) -> OSStatus {
  if unsafe hasNull([inParameter]) { return kAudio_ParamError }
  let event = unsafe UnitEvent(inParameter.pointee)
  unsafe UnitListener.tell(event, value: event.value, from: inSendingListener, inSendingObject)
  return noErr
}

/// Makes a listener of events.
///
/// See `createParameterListener`.
@c(AUEventListenerCreate)
public func createEventListener(
  _ inProc: @escaping AUEventListenerProc, _ inUserData: UnsafeMutableRawPointer?,
  _ inRunLoop: UnsafeRawPointer?, _ inRunLoopMode: UnsafeRawPointer?,
  _ inNotificationInterval: Float32,
  _ inValueChangeGranularity: Float32,
  _ outListener: UnsafeMutablePointer<AUEventListenerRef?>
) -> OSStatus {
  unsafe answer(
    "AUEventListenerCreate", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self), outListener
  ) { () throws(AudioUnitError) in
    unsafe outListener.pointee = make(
      .events(inProc), inUserData, inRunLoop, inRunLoopMode, inNotificationInterval,
      inValueChangeGranularity)
  }
}

/// Lets a listener hear of an event.
@c @implementation
public func AUEventListenerAddEventType(
  _ inListener: AUEventListenerRef, _ inObject: UnsafeMutableRawPointer?,
  _ inEvent: UnsafePointer<AudioUnitEvent>
) -> OSStatus {
  unsafe answer("AUEventListenerAddEventType", needs: inEvent) { () throws(AudioUnitError) in
    unsafe try listener(inListener).add(UInt(bitPattern: inObject), UnitEvent(inEvent.pointee))
  }
}

/// Lets a listener hear of an event no more.
@c @implementation
public func AUEventListenerRemoveEventType(
  _ inListener: AUEventListenerRef, _ inObject: UnsafeMutableRawPointer?,
  _ inEvent: UnsafePointer<AudioUnitEvent>
) -> OSStatus {
  unsafe answer("AUEventListenerRemoveEventType", needs: inEvent) { () throws(AudioUnitError) in
    unsafe try listener(inListener).remove(UInt(bitPattern: inObject), UnitEvent(inEvent.pointee))
  }
}

/// Tells of an event.
@c @implementation
public func AUEventListenerNotify(
  _ inSendingListener: AUEventListenerRef?, _ inSendingObject: UnsafeMutableRawPointer?,
  _ inEvent: UnsafePointer<AudioUnitEvent>
) -> OSStatus {
  if unsafe hasNull([inEvent]) { return kAudio_ParamError }
  let event = unsafe UnitEvent(inEvent.pointee)
  unsafe UnitListener.tell(event, value: event.value, from: inSendingListener, inSendingObject)
  return noErr
}
