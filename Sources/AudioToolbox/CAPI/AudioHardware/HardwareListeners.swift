import AudioQueue
import CAudioToolbox
import CoreFoundation
import Dispatch
import Hardware
import Synchronization

/// The functions and blocks that apps want called when properties of audio objects change. Any thread.
///
/// They are called one at a time on a thread of the library, or on the app's run loop or dispatch queue,
/// never inside the call that brings the change about: the app may hold a lock then that its listener
/// takes.
final class HardwareListeners: Sendable {
  static let shared = HardwareListeners()

  private typealias Block =
    @convention(block) (UInt32, UnsafePointer<AudioObjectPropertyAddress>) -> Void

  /// A closure of a Swift program.
  @safe struct Closure {
    let call: AudioObjectPropertyListenerBlock
    /// Addresses of its code and its captured values: a value that is passed again has the same.
    var identity: (UInt, UInt) { unsafe unsafeBitCast(self, to: (UInt, UInt).self) }
  }

  /// The app's function or block.
  @safe enum Callback: @unchecked Sendable {
    case object(AudioObjectPropertyListenerProc, UnsafeMutableRawPointer?)
    case block(CopiedBlock, on: SerialQueue?)
    case hardware(AudioHardwarePropertyListenerProc, UnsafeMutableRawPointer?)
    case device(AudioDevicePropertyListenerProc, UnsafeMutableRawPointer?)
    case stream(AudioStreamPropertyListenerProc, UnsafeMutableRawPointer?)
    /// A closure of a Swift program, on a private serial queue.
    case closure(Closure, on: DispatchQueue?)

    /// Numbers that are equal for equal callbacks: kind, function, data.
    var identity: [UInt] {
      switch self {
      case .object(let function, let data):
        unsafe [0, unsafeBitCast(function, to: UInt.self), UInt(bitPattern: data)]
      case .block(let block, _):
        [1, block.original, 0]
      case .hardware(let function, let data):
        unsafe [2, unsafeBitCast(function, to: UInt.self), UInt(bitPattern: data)]
      case .device(let function, let data):
        unsafe [3, unsafeBitCast(function, to: UInt.self), UInt(bitPattern: data)]
      case .stream(let function, let data):
        unsafe [4, unsafeBitCast(function, to: UInt.self), UInt(bitPattern: data)]
      case .closure(let closure, _):
        [5, closure.identity.0, closure.identity.1]
      }
    }

    /// True for the functions of AudioHardwareDeprecated.h.
    var isOld: Bool { (2...4).contains(identity[0]) }

    /// Throws if the app has passed no function.
    func check() throws(HardwareError) {
      if identity[1] == 0 { throw .badArgument("a pointer is NULL") }
    }
  }

  private struct Listener {
    let object: AudioObjectID
    let address: AudioObjectPropertyAddress
    let callback: Callback

    func isSame(_ object: AudioObjectID, _ address: AudioObjectPropertyAddress) -> Bool {
      self.object == object && self.address.mSelector == address.mSelector
        && self.address.mScope == address.mScope && self.address.mElement == address.mElement
    }
  }

  private struct State {
    var runLoop: UInt = 0
    var servers: [AudioObjectID] = []
    var isWatching = false
  }
  private let state = Mutex(State())
  private let listeners = ListenerList<Listener>("a property listener that was removed")
  private let queue = DispatchQueue(label: "cuejack.hardware")

  /// Seconds between two looks for servers that have come or gone.
  private static let watchSeconds = 0.5

  // MARK: Adding and removing

  /// Adds a callback, unless it is there already.
  func add(_ callback: Callback, to id: AudioObjectID, _ address: AudioObjectPropertyAddress)
    throws(HardwareError)
  {
    try check(callback, id)
    let identity = callback.identity
    let listener = Listener(object: id, address: address, callback: callback)
    let isNew = listeners.add(listener) {
      $0.isSame(id, address) && $0.callback.identity == identity
    }
    guard isNew else { return }
    if let device = try? HardwareObjects.shared.device(id).device {
      // Its client must be open to learn of changes.
      device.beginUse()
      queue.async { _ = try? device.open() }
    } else {
      watch()
    }
  }

  /// Removes a callback, if it is there. No call of it begins afterwards. Older functions are removed whatever
  /// their data.
  func remove(_ callback: Callback, from id: AudioObjectID, _ address: AudioObjectPropertyAddress)
    throws(HardwareError)
  {
    try check(callback, id)
    let identity = callback.identity.prefix(callback.isOld ? 2 : 3)
    let removed = listeners.remove {
      $0.isSame(id, address) && $0.callback.identity.starts(with: identity)
    }
    for _ in removed { (try? HardwareObjects.shared.device(id))?.device.endUse() }
  }

  private func check(_ callback: Callback, _ id: AudioObjectID) throws(HardwareError) {
    try callback.check()
    if HardwareObjects.shared.object(id) == nil { throw .noSuchObject(id) }
  }

  // MARK: The run loop

  /// Address of the run loop on which functions are called; 0 for a thread of the library.
  var runLoopAddress: UInt { state.withLock { $0.runLoop } }

  func setRunLoop(_ address: UInt) {
    if let loop = unsafe UnsafeRawPointer(bitPattern: address) {
      // It is never released: a call may be under way to it.
      _ = unsafe Unmanaged<CFRunLoop>.fromOpaque(loop).retain()
    }
    state.withLock { $0.runLoop = address }
  }

  // MARK: Telling

  /// Tells of a change of a device.
  func tell(_ change: HardwareChange, of id: AudioObjectID) {
    let streams = [id + 1, id + 2]
    for selector in change.deviceSelectors { tell(selector, of: [id]) }
    for selector in change.streamSelectors { tell(selector, of: streams) }
    if case .presence = change { look() }
  }

  private func tell(_ selector: AudioObjectPropertySelector, of objects: [AudioObjectID]) {
    let entries = listeners.entries {
      objects.contains($0.object)
        && ($0.address.mSelector == selector
          || $0.address.mSelector == kAudioObjectPropertySelectorWildcard)
    }
    let loop = runLoopAddress
    for entry in entries {
      let call = { @Sendable in
        self.listeners.call(entry.number) { self.call($0, selector) }
      }
      if case .block(_, let target?) = entry.listener.callback {
        target.async(call)
      } else if case .closure(_, let target?) = entry.listener.callback {
        target.async(execute: call)
      } else if let loop = unsafe UnsafeRawPointer(bitPattern: loop) {
        let loop = unsafe Unmanaged<CFRunLoop>.fromOpaque(loop).takeUnretainedValue()
        CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, call)
        CFRunLoopWakeUp(loop)
      } else {
        queue.async(execute: call)
      }
    }
  }

  /// Calls a listener's function or block.
  private func call(_ listener: Listener, _ selector: AudioObjectPropertySelector) {
    var address = listener.address
    address.mSelector = selector
    switch listener.callback {
    case .object(let function, let data):
      _ = unsafe function(listener.object, 1, &address, data)
    case .block(let block, _):
      let function = unsafe unsafeBitCast(block.block, to: Block.self)
      unsafe function(1, &address)
    case .closure(let closure, _): unsafe closure.call(1, &address)
    case .hardware(let function, let data): _ = unsafe function(selector, data)
    case .device(let function, let data):
      let isInput = address.mScope == kAudioObjectPropertyScopeInput
      _ = unsafe function(listener.object, address.mElement, isInput, selector, data)
    case .stream(let function, let data):
      _ = unsafe function(listener.object, address.mElement, selector, data)
    }
  }

  // MARK: Servers that come and go

  /// Looks for servers from now on, as long as anybody listens to the system object.
  private func watch() {
    let isFirst = state.withLock { state in
      defer { state.isWatching = true }
      return !state.isWatching
    }
    guard isFirst else { return }
    let present = HardwareObjects.shared.reachable.map(\.id)
    state.withLock { $0.servers = present }
    watchLater()
  }

  private func watchLater() {
    queue.asyncAfter(deadline: .now() + Self.watchSeconds) { [self] in
      // Under the lock: a listener that is added afterwards finds that nothing watches.
      let goesOn = state.withLock { state in
        let heard = listeners.entries { $0.object == kAudioObjectSystemObject }
        state.isWatching = !heard.isEmpty
        return state.isWatching
      }
      guard goesOn else { return }
      look()
      watchLater()
    }
  }

  /// Tells of servers that have come or gone since the last look.
  private func look() {
    let present = HardwareObjects.shared.reachable.map(\.id)
    let old = state.withLock { state in
      defer { state.servers = present }
      return state.isWatching ? state.servers : present
    }
    if old == present { return }
    let system = [AudioObjectID(kAudioObjectSystemObject)]
    tell(kAudioHardwarePropertyDevices, of: system)
    tell(kAudioObjectPropertyOwnedObjects, of: system)
    let standard = HardwareObjects.shared.device(ofServer: HardwareObjects.standardName).id
    guard old.contains(standard) != present.contains(standard) else { return }
    tell(kAudioHardwarePropertyDefaultOutputDevice, of: system)
    tell(kAudioHardwarePropertyDefaultInputDevice, of: system)
    tell(kAudioHardwarePropertyDefaultSystemOutputDevice, of: system)
  }
}

extension HardwareChange {
  /// The properties of a device that change with it.
  var deviceSelectors: [AudioObjectPropertySelector] {
    switch self {
    case .presence: [kAudioDevicePropertyDeviceIsAlive, kAudioDevicePropertyDeviceHasChanged]
    case .sampleRate:
      [
        kAudioDevicePropertyNominalSampleRate, kAudioDevicePropertyActualSampleRate,
        kAudioDevicePropertyAvailableNominalSampleRates, kAudioStreamPropertyVirtualFormat,
        kAudioDevicePropertyDeviceHasChanged,
      ]
    case .bufferFrames: [kAudioDevicePropertyBufferFrameSize, kAudioDevicePropertyBufferSize]
    case .channels:
      [
        kAudioDevicePropertyStreams, kAudioDevicePropertyStreamConfiguration,
        kAudioStreamPropertyVirtualFormat, kAudioDevicePropertyPreferredChannelLayout,
        kAudioDevicePropertyPreferredChannelsForStereo, kAudioObjectPropertyOwnedObjects,
        kAudioDevicePropertyDeviceHasChanged,
      ]
    case .latency: [kAudioDevicePropertyLatency]
    case .overload: [kAudioDeviceProcessorOverload]
    case .running:
      [kAudioDevicePropertyDeviceIsRunning, kAudioDevicePropertyDeviceIsRunningSomewhere]
    case .volume:
      [
        kAudioDevicePropertyVolumeScalar, kAudioDevicePropertyVolumeDecibels,
        kAudioHardwareServiceDeviceProperty_VirtualMainVolume,
      ]
    case .mute: [kAudioDevicePropertyMute]
    case .hog: [kAudioDevicePropertyHogMode]
    }
  }

  /// The properties of a device's streams that change with it.
  fileprivate var streamSelectors: [AudioObjectPropertySelector] {
    switch self {
    case .sampleRate, .channels:
      [
        kAudioStreamPropertyVirtualFormat, kAudioStreamPropertyAvailableVirtualFormats,
        kAudioStreamPropertyPhysicalFormat, kAudioStreamPropertyAvailablePhysicalFormats,
      ]
    default: []
    }
  }
}
