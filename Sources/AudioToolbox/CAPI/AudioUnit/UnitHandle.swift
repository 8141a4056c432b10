import AudioUnits
import CAudioToolbox
import CoreFoundation
import Dispatch
import Hardware
import Synchronization
import System

/// An audio unit as C programs hold it, with its property listeners. Any thread that is not real time.
final class UnitHandle: Sendable {
  let unit: Unit
  let component: UnitComponent
  let handle: UInt

  @safe private struct Listener: @unchecked Sendable {
    let property: AudioUnitPropertyID
    let proc: AudioUnitPropertyListenerProc
    let data: UnsafeMutableRawPointer?

    /// True for a property of the device, whose client must be open to learn of changes.
    var isOfDevice: Bool { property > 0xFFFF }
  }
  private struct State {
    /// Scope and element with which properties of the device were set last.
    var addresses: [AudioUnitPropertyID: (scope: UInt32, element: UInt32)] = [:]
    var observed: (device: HardwareDevice, number: UInt64)?
    /// Functions of the library that hear of properties, each with its owner.
    var watchers: [(owner: ObjectIdentifier, property: UInt32, body: Watcher)] = []
    /// The name that `lend` has returned.
    var presetName: (text: String, object: CFString)?
  }
  /// Hears of the scope and element of a property that has changed.
  typealias Watcher = @Sendable (_ scope: UInt32, _ element: UInt32) -> Void
  private let state = Mutex(State())
  private let listeners = ListenerList<Listener>("a property listener of an audio unit")
  private static let queue = DispatchQueue(label: "cuejack.units")

  init(_ unit: Unit, _ component: UnitComponent, _ handle: UInt) {
    self.unit = unit
    self.component = component
    self.handle = handle
    unit.whenChanged { [weak self] change in
      if case .device = change { self?.observeDevice() }
      let property = change.property
      self?.tell(property.id, scope: property.scope, element: property.element)
      if case .preset = change {
        self?.tell(kAudioUnitProperty_CurrentPreset, scope: property.scope, element: 0)
      }
    }
    observeDevice()
  }

  /// Returns a preset's name, which stays until another name is asked for or the unit ends.
  func lend(presetName text: String) -> Unmanaged<CFString> {
    let address = state.withLock { state in
      if state.presetName?.text != text { state.presetName = (text, text.cfString) }
      return UInt(bitPattern: unsafe Unmanaged.passUnretained(state.presetName!.object).toOpaque())
    }
    return unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
  }

  /// The unit as one of the app's own; nil if it is none.
  var foreign: ForeignUnit? { unit as? ForeignUnit }

  /// The unit as an output unit; nil if it is none.
  var output: OutputUnit? { unit as? OutputUnit }

  // MARK: Listeners

  func add(
    _ proc: AudioUnitPropertyListenerProc, _ data: UnsafeMutableRawPointer?,
    _ property: AudioUnitPropertyID
  ) {
    let listener = unsafe Listener(property: property, proc: proc, data: data)
    if listeners.add(listener), listener.isOfDevice { output?.hardware.beginUse() }
  }

  /// - Parameter data: Nil for any.
  func remove(
    _ proc: AudioUnitPropertyListenerProc, _ data: UnsafeMutableRawPointer??,
    _ property: AudioUnitPropertyID
  ) {
    let address = unsafe unsafeBitCast(proc, to: UInt.self)
    let removed = listeners.remove { listener in
      unsafe listener.property == property
        && unsafeBitCast(listener.proc, to: UInt.self) == address
        && (data == nil || listener.data == data!)
    }
    for listener in removed where listener.isOfDevice { output?.hardware.endUse() }
  }

  /// Tells listeners of a change, on a thread of the library: the app may hold a lock that they take.
  private func tell(_ property: UInt32, scope: UInt32, element: UInt32) {
    for entry in listeners.entries(where: { $0.property == property }) {
      Self.queue.async { self.call(entry.number, scope, element) }
    }
    let watchers = state.withLock { state in
      state.watchers.filter { $0.property == property }.map(\.body)
    }
    for watcher in watchers { watcher(scope, element) }
  }

  /// Adds the function of an owner that hears of a property; nil removes it.
  func observe(_ body: Watcher?, _ property: UInt32, of owner: ObjectIdentifier) {
    state.withLock { state in
      state.watchers.removeAll { $0.owner == owner && $0.property == property }
      if let body { state.watchers.append((owner, property, body)) }
    }
  }

  private func call(_ number: UInt64, _ scope: UInt32, _ element: UInt32) {
    guard let reference = unsafe AudioUnit(bitPattern: handle) else { return }
    listeners.call(number) { listener in
      // Programs that pass no data get none, whatever the type says.
      let data = unsafe unsafeBitCast(listener.data, to: UnsafeMutableRawPointer.self)
      unsafe listener.proc(data, reference, listener.property, scope, element)
    }
  }

  // MARK: The device

  /// Tells of changes of the device's properties from now on.
  private func observeDevice() {
    guard let device = output?.hardware else { return }
    let number = device.addObserver { [weak self] change in
      guard let self else { return }
      for selector in change.deviceSelectors {
        let address: (scope: UInt32, element: UInt32) =
          state.withLock { $0.addresses[selector] } ?? (0, 0)
        tell(selector, scope: address.scope, element: address.element)
      }
    }
    let old = state.withLock { state in
      defer { state.observed = (device, number) }
      return state.observed
    }
    guard let old else { return }
    old.device.removeObserver(old.number)
    for _ in listeners.entries(where: \.isOfDevice) {
      device.beginUse()
      old.device.endUse()
    }
  }

  /// Notes the scope and element with which a property of the device is set.
  func note(_ property: AudioUnitPropertyID, scope: UInt32, element: UInt32) {
    state.withLock { $0.addresses[property] = (scope, element) }
  }

  /// Ends the unit. When this returns, no listener is called, unless one of them is the caller.
  func dispose() {
    for listener in listeners.close() where listener.isOfDevice { output?.hardware.endUse() }
    if let observed = state.withLock({ $0.observed }) {
      observed.device.removeObserver(observed.number)
    }
    unit.dispose()
  }
}

extension UnitChange {
  /// The property that changes, with its scope and element.
  fileprivate var property: (id: AudioUnitPropertyID, scope: UInt32, element: UInt32) {
    switch self {
    case .format(let side, let bus): (kAudioUnitProperty_StreamFormat, side.rawValue, bus)
    case .busCount(let side): (kAudioUnitProperty_ElementCount, side.rawValue, 0)
    case .maximumFrames: (kAudioUnitProperty_MaximumFramesPerSlice, kAudioUnitScope_Global, 0)
    case .running: (kAudioOutputUnitProperty_IsRunning, kAudioUnitScope_Global, 0)
    case .device: (kAudioOutputUnitProperty_CurrentDevice, kAudioUnitScope_Global, 0)
    case .preset: (kAudioUnitProperty_PresentPreset, kAudioUnitScope_Global, 0)
    case .direction(let side):
      (kAudioOutputUnitProperty_EnableIO, side.rawValue, side == .input ? 1 : 0)
    case .channelMap(let bus):
      (
        kAudioOutputUnitProperty_ChannelMap,
        bus == 0 ? kAudioUnitScope_Output : kAudioUnitScope_Input, UInt32(bus)
      )
    }
  }
}
