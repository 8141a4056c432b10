public import CAudioToolbox
import CFork
import CoreFoundation
import MIDI
import Server

// Clients of MIDIServices.h. The header documents each function.

/// Returns the text of a CFString; nil for NULL.
func text(ofString pointer: UnsafeRawPointer?) -> String? {
  guard let pointer = unsafe pointer, UInt(bitPattern: pointer) != 0 else { return nil }
  return unsafe Unmanaged<CFString>.fromOpaque(pointer).takeUnretainedValue().string
}

private func makeClient(
  _ name: UnsafeRawPointer?, _ notifier: MIDINotifier?
) throws(MIDIFailure) -> MIDIClient {
  let name = try unsafe midiText(name)
  let client = try onServer { () throws(ServerError) in
    try MIDIClient(named: name) { notifier?.take($0) }
  }
  client.whenDisposed { notifier?.end() }
  return client
}

/// Implements `MIDIClientCreate`. A raw pointer replaces the CFString, which Swift cannot use in a function that it
/// implements for C.
@c(MIDIClientCreate)
public func createMIDIClient(
  _ name: UnsafeRawPointer?, _ notifyProc: MIDINotifyProc?,
  _ notifyRefCon: UnsafeMutableRawPointer?,
  _ outClient: UnsafeMutablePointer<MIDIClientRef>?
) -> OSStatus {
  answer("MIDIClientCreate") { () throws(MIDIFailure) in
    try unsafe putReference(in: outClient) { () throws(MIDIFailure) in
      let notifier = unsafe notifyProc.map { unsafe MIDINotifier(calling: $0, notifyRefCon) }
      return try unsafe makeClient(name, notifier)
    }
  }
}

/// Implements `MIDIClientCreateWithBlock`.
@c(MIDIClientCreateWithBlock)
public func createMIDIClientWithBlock(
  _ name: UnsafeRawPointer?, _ outClient: UnsafeMutablePointer<MIDIClientRef>?,
  _ notifyBlock: MIDINotifyBlock?
) -> OSStatus {
  answer("MIDIClientCreateWithBlock") { () throws(MIDIFailure) in
    try unsafe putReference(in: outClient) { () throws(MIDIFailure) in
      try unsafe makeClient(name, notifyBlock.map { unsafe MIDINotifier(calling: $0) })
    }
  }
}

/// Closes a client.
@c @implementation
public func MIDIClientDispose(_ client: MIDIClientRef) -> OSStatus {
  answer("MIDIClientDispose") { () throws(MIDIFailure) in try findClient(client).dispose() }
}

/// Looks for ports that have come or gone.
@c @implementation
public func MIDIRestart() -> OSStatus {
  answer("MIDIRestart") { () throws(MIDIFailure) in MIDISetup.shared.restart() }
}
