package import AudioUnits
public import CAudioToolbox
import CoreFoundation
import Hardware

// The functions of AudioSession.h. The header documents each function and its units.

extension AudioSession {
  /// The session of this process, on the default server.
  package static let shared = AudioSession {
    HardwareObjects.shared.device(ofServer: HardwareObjects.standardName).device
  }
}

/// Sets the run loop of C listeners and the app's function for interruptions, and lets both hear of
/// events.
///
/// - Returns: False if that has been done before.
@discardableResult
private func beginListeners(
  on loop: CFRunLoop, mode: CFString, _ interruption: AudioSessionListeners.Interruption?
) -> Bool {
  guard AudioSessionListeners.shared.begin(loop, mode: mode, interruption) else { return false }
  AudioSession.shared.addObserver { AudioSessionListeners.shared.tell($0) }
  return true
}

extension AudioSession {
  /// Initialises the session for Swift, with listeners of C on the main thread's run loop.
  package static func initializeForSwift() {
    beginListeners(on: CFRunLoopGetMain(), mode: CFRunLoopMode.defaultMode.rawValue, nil)
  }
}

/// Runs the body of a function that needs an initialised session.
private func withSession(
  _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (AudioSession) throws(AudioSessionFailure) -> Void
) -> OSStatus {
  answer(function) { () throws(AudioSessionFailure) in
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    guard AudioSessionListeners.shared.hasBegun else { throw .notInitialized }
    try body(.shared)
  }
}

/// Implements `AudioSessionInitialize`. Raw pointers replace the Core Foundation references.
@c(AudioSessionInitialize)
public func initializeAudioSession(
  _ inRunLoop: UnsafeRawPointer?, _ inRunLoopMode: UnsafeRawPointer?,
  _ inInterruptionListener: AudioSessionInterruptionListener?,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  answer("AudioSessionInitialize") { () throws(AudioSessionFailure) in
    let loop = unsafe inRunLoop.map { unsafe Unmanaged<CFRunLoop>.fromOpaque($0) }
    let mode = unsafe inRunLoopMode.map { unsafe Unmanaged<CFString>.fromOpaque($0) }
    let interruption = unsafe inInterruptionListener.map {
      unsafe AudioSessionListeners.Interruption(function: $0, data: inClientData)
    }
    let isFirst = unsafe beginListeners(
      on: loop?.takeUnretainedValue() ?? CFRunLoopGetMain(),
      mode: mode?.takeUnretainedValue() ?? CFRunLoopMode.defaultMode.rawValue, interruption)
    guard isFirst else { throw .alreadyInitialized }
    AudioSession.shared.use()
  }
}

/// Makes the session active, or not.
@c @implementation
public func AudioSessionSetActive(_ active: Bool) -> OSStatus {
  setActive("AudioSessionSetActive", active)
}

/// Makes the session active, or not.
@c @implementation
public func AudioSessionSetActiveWithFlags(_ active: Bool, _ inFlags: UInt32) -> OSStatus {
  setActive("AudioSessionSetActiveWithFlags", active)
}

private func setActive(_ function: String, _ active: Bool) -> OSStatus {
  unsafe withSession(function) { (session) throws(AudioSessionFailure) in
    if active {
      try onSession(session.activate())
    } else {
      session.deactivate()
    }
  }
}

/// Copies a property's value.
@c @implementation
public func AudioSessionGetProperty(
  _ inID: AudioSessionPropertyID, _ ioDataSize: UnsafeMutablePointer<UInt32>,
  _ outData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe withSession("AudioSessionGetProperty", needs: ioDataSize, outData) {
    (session) throws(AudioSessionFailure) in
    let entry = try unsafe AudioSessionProperty(session, inID).entry()
    guard let read = entry.read else { throw .notReadable(inID) }
    let (room, size) = unsafe (Int(ioDataSize.pointee), try entry.size)
    // An object that does not fit would be made in vain.
    guard room >= size else { throw .wrongSize(inID, needed: size, size: room) }
    let memory = unsafe UnsafeMutableRawBufferPointer(start: outData, count: size)
    unsafe ioDataSize.pointee = UInt32(try read()?.write(to: memory) ?? 0)
  }
}

/// Sets a property.
@c @implementation
public func AudioSessionSetProperty(
  _ inID: AudioSessionPropertyID, _ inDataSize: UInt32, _ inData: UnsafeRawPointer
) -> OSStatus {
  unsafe withSession("AudioSessionSetProperty", needs: inData) {
    (session) throws(AudioSessionFailure) in
    let entry = try unsafe AudioSessionProperty(session, inID, inData, inDataSize).entry()
    guard let write = entry.write else { throw .notSettable(inID) }
    let size = try entry.size
    guard inDataSize == size else { throw .wrongSize(inID, needed: size, size: Int(inDataSize)) }
    try write()
  }
}

/// Returns the size of a property's value in bytes.
@c @implementation
public func AudioSessionGetPropertySize(
  _ inID: AudioSessionPropertyID, _ outDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withSession("AudioSessionGetPropertySize", needs: outDataSize) {
    (session) throws(AudioSessionFailure) in
    unsafe outDataSize.pointee = UInt32(try unsafe AudioSessionProperty(session, inID).entry().size)
  }
}

/// Throws unless a property has listeners.
private func checkListeners(of id: AudioSessionPropertyID) throws(AudioSessionFailure) {
  _ = try unsafe AudioSessionProperty(.shared, id).entry()
  guard AudioSessionProperty.withListeners.contains(id) else { throw .notListenable(id) }
}

/// Adds a function to call when a property changes.
@c @implementation
public func AudioSessionAddPropertyListener(
  _ inID: AudioSessionPropertyID, _ inProc: @escaping AudioSessionPropertyListener,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withSession(
    "AudioSessionAddPropertyListener", needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { (_) throws(AudioSessionFailure) in
    try checkListeners(of: inID)
    unsafe AudioSessionListeners.shared.add(inProc, inClientData, to: inID)
  }
}

/// Removes all functions that are called when a property changes.
@c @implementation
public func AudioSessionRemovePropertyListener(_ inID: AudioSessionPropertyID) -> OSStatus {
  unsafe withSession("AudioSessionRemovePropertyListener") { (_) throws(AudioSessionFailure) in
    try checkListeners(of: inID)
    AudioSessionListeners.shared.remove(nil, from: inID)
  }
}

/// Removes a function that was added with these data.
@c @implementation
public func AudioSessionRemovePropertyListenerWithUserData(
  _ inID: AudioSessionPropertyID, _ inProc: @escaping AudioSessionPropertyListener,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withSession(
    "AudioSessionRemovePropertyListenerWithUserData",
    needs: unsafeBitCast(inProc, to: UnsafeRawPointer?.self)
  ) { (_) throws(AudioSessionFailure) in
    try checkListeners(of: inID)
    unsafe AudioSessionListeners.shared.remove(
      (unsafeBitCast(inProc, to: UInt.self), UInt(bitPattern: inClientData)), from: inID)
  }
}
