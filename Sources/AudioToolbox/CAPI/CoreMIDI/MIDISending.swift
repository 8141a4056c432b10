public import CAudioToolbox
import MIDI
import Server
import Synchronization

// Messages of MIDIServices.h. The header documents each function.

/// Runs the body of a function that sends to a destination, with the port and the destination.
private func sending(
  _ function: String, _ port: MIDIPortRef, _ destination: MIDIEndpointRef,
  needs list: UnsafeRawPointer?,
  _ body: (MIDIOutputPort, MIDIEndpoint) throws(ServerError) -> Void
) -> OSStatus {
  unsafe answer(function, needs: list) { () throws(MIDIFailure) in
    let port = try findPort(port, as: MIDIOutputPort.self)
    let destination = try findEndpoint(destination, isSource: false)
    try onServer { () throws(ServerError) in try body(port, destination) }
  }
}

/// Sends packets to a destination.
@c @implementation
public func MIDISend(
  _ port: MIDIPortRef, _ dest: MIDIEndpointRef, _ pktlist: UnsafePointer<MIDIPacketList>
) -> OSStatus {
  unsafe sending("MIDISend", port, dest, needs: pktlist) {
    port, destination throws(ServerError) in
    try port.send(unsafe MIDIPacketLayout.packets(pktlist), to: destination)
  }
}

/// Sends universal packets to a destination.
@c @implementation
public func MIDISendEventList(
  _ port: MIDIPortRef, _ dest: MIDIEndpointRef, _ evtlist: UnsafePointer<MIDIEventList>
) -> OSStatus {
  unsafe sending("MIDISendEventList", port, dest, needs: evtlist) {
    port, destination throws(ServerError) in
    try port.send(words: unsafe MIDIPacketLayout.packets(evtlist), to: destination)
  }
}

private func receiving(
  _ function: String, _ source: MIDIEndpointRef, needs list: UnsafeRawPointer?,
  _ body: (MIDIVirtualSource) throws(ServerError) -> Void
) -> OSStatus {
  unsafe answer(function, needs: list) { () throws(MIDIFailure) in
    let endpoint = try findEndpoint(source, isSource: true)
    guard let source = endpoint.virtualSource else {
      throw .status(kMIDINotPermitted, "“\(endpoint.port)” is not the program's own")
    }
    try onServer { () throws(ServerError) in try body(source) }
  }
}

/// Sends packets from a virtual source.
@c @implementation
public func MIDIReceived(_ src: MIDIEndpointRef, _ pktlist: UnsafePointer<MIDIPacketList>)
  -> OSStatus
{
  unsafe receiving("MIDIReceived", src, needs: pktlist) { source throws(ServerError) in
    try source.send(unsafe MIDIPacketLayout.packets(pktlist))
  }
}

/// Sends universal packets from a virtual source.
@c @implementation
public func MIDIReceivedEventList(_ src: MIDIEndpointRef, _ evtlist: UnsafePointer<MIDIEventList>)
  -> OSStatus
{
  unsafe receiving("MIDIReceivedEventList", src, needs: evtlist) { source throws(ServerError) in
    try source.send(words: unsafe MIDIPacketLayout.packets(evtlist))
  }
}

/// Unschedules what is not due yet.
@c @implementation
public func MIDIFlushOutput(_ dest: MIDIEndpointRef) -> OSStatus {
  answer("MIDIFlushOutput") { () throws(MIDIFailure) in
    MIDISetup.shared.flush(dest == 0 ? nil : try findEndpoint(dest))
  }
}

/// A program's request, which it keeps until the request is complete.
@safe private struct SysexRequest: @unchecked Sendable {
  let request: UnsafeMutablePointer<MIDISysexSendRequest>

  func complete(isSent: Bool) {
    if isSent { unsafe request.pointee.bytesToSend = 0 }
    // The program may free the request once it is complete and its function, if there is one, has been called.
    let completion = unsafe request.pointee.completionProc
    unsafe request.pointee.complete = true
    unsafe completion?(request)
  }
}

/// Sends a system exclusive message.
@c @implementation
public func MIDISendSysex(_ request: UnsafeMutablePointer<MIDISysexSendRequest>) -> OSStatus {
  unsafe answer("MIDISendSysex", needs: request) { () throws(MIDIFailure) in
    let destination = try unsafe findEndpoint(request.pointee.destination, isSource: false)
    let bytes = unsafe copyBytes(at: request.pointee.data, count: request.pointee.bytesToSend)
    guard let bytes, bytes.first == 0xF0, bytes.last == 0xF7, bytes.count >= 2,
      bytes[1..<(bytes.count - 1)].allSatisfy({ $0 < 0x80 })
    else {
      throw .badArgument(
        "a system exclusive message begins with 0xF0, ends with 0xF7, and has bytes below 0x80 between"
      )
    }
    guard let client = MIDISetup.shared.client else {
      throw .status(kMIDIInvalidClient, "there is no client")
    }
    let sent = unsafe SysexRequest(request: request)
    unsafe request.pointee.complete = false
    try onServer { () throws(ServerError) in
      try client.exclusivePort().send(bytes, to: destination) { sent.complete(isSent: $0) }
    }
  }
}
