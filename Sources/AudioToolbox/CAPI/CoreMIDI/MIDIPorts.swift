public import CAudioToolbox
import MIDI
import Server

// Ports and virtual endpoints of MIDIServices.h. The header documents each function.

// MARK: Input ports

private func makeInputPort(
  _ client: MIDIClientRef, _ name: UnsafeRawPointer?, _ reader: MIDIReader
) throws(MIDIFailure) -> MIDIObject {
  let (client, name) = (try findClient(client), try unsafe midiText(name))
  return try onServer { () throws(ServerError) in
    try MIDIInputPort(named: name, of: client) { reader.take($0, tag: $1) }
  }
}

/// Implements `MIDIInputPortCreate`. A raw pointer replaces the CFString here and below.
@c(MIDIInputPortCreate)
public func createMIDIInputPort(
  _ client: MIDIClientRef, _ portName: UnsafeRawPointer?, _ readProc: MIDIReadProc?,
  _ refCon: UnsafeMutableRawPointer?, _ outPort: UnsafeMutablePointer<MIDIPortRef>?
) -> OSStatus {
  answer("MIDIInputPortCreate") { () throws(MIDIFailure) in
    try unsafe putReference(in: outPort) { () throws(MIDIFailure) in
      try unsafe makeInputPort(client, portName, MIDIReader(calling: readProc, refCon))
    }
  }
}

/// Implements `MIDIInputPortCreateWithBlock`.
@c(MIDIInputPortCreateWithBlock)
public func createMIDIInputPortWithBlock(
  _ client: MIDIClientRef, _ portName: UnsafeRawPointer?,
  _ outPort: UnsafeMutablePointer<MIDIPortRef>?, _ readBlock: MIDIReadBlock?
) -> OSStatus {
  answer("MIDIInputPortCreateWithBlock") { () throws(MIDIFailure) in
    try unsafe putReference(in: outPort) { () throws(MIDIFailure) in
      try unsafe makeInputPort(client, portName, MIDIReader(calling: readBlock))
    }
  }
}

/// Implements `MIDIInputPortCreateWithProtocol`.
@c(MIDIInputPortCreateWithProtocol)
public func createMIDIInputPortWithProtocol(
  _ client: MIDIClientRef, _ portName: UnsafeRawPointer?, _ protocol: Int32,
  _ outPort: UnsafeMutablePointer<MIDIPortRef>?, _ receiveBlock: MIDIReceiveBlock?
) -> OSStatus {
  answer("MIDIInputPortCreateWithProtocol") { () throws(MIDIFailure) in
    try unsafe putReference(in: outPort) { () throws(MIDIFailure) in
      try unsafe makeInputPort(client, portName, MIDIReader(`protocol`, calling: receiveBlock))
    }
  }
}

/// Connects a source.
@c @implementation
public func MIDIPortConnectSource(
  _ port: MIDIPortRef, _ source: MIDIEndpointRef, _ connRefCon: UnsafeMutableRawPointer?
) -> OSStatus {
  answer("MIDIPortConnectSource") { () throws(MIDIFailure) in
    let port = try findPort(port, as: MIDIInputPort.self)
    let source = try findEndpoint(source, isSource: true)
    try onServer { () throws(ServerError) in
      try port.connect(source, tag: UInt(bitPattern: connRefCon))
    }
  }
}

/// Disconnects a source.
@c @implementation
public func MIDIPortDisconnectSource(_ port: MIDIPortRef, _ source: MIDIEndpointRef) -> OSStatus {
  answer("MIDIPortDisconnectSource") { () throws(MIDIFailure) in
    let port = try findPort(port, as: MIDIInputPort.self)
    let source = try findEndpoint(source, isSource: true)
    if !port.disconnect(source) {
      throw .status(kMIDINoConnection, "the port is not connected to “\(source.port)”")
    }
  }
}

// MARK: Output ports

/// Implements `MIDIOutputPortCreate`.
@c(MIDIOutputPortCreate)
public func createMIDIOutputPort(
  _ client: MIDIClientRef, _ portName: UnsafeRawPointer?,
  _ outPort: UnsafeMutablePointer<MIDIPortRef>?
) -> OSStatus {
  answer("MIDIOutputPortCreate") { () throws(MIDIFailure) in
    try unsafe putReference(in: outPort) { () throws(MIDIFailure) in
      let (client, name) = (try findClient(client), try unsafe midiText(portName))
      return try onServer { () throws(ServerError) in try MIDIOutputPort(named: name, of: client) }
    }
  }
}

/// Removes a port.
@c @implementation
public func MIDIPortDispose(_ port: MIDIPortRef) -> OSStatus {
  answer("MIDIPortDispose") { () throws(MIDIFailure) in
    switch MIDIObject.find(port) {
    case let input as MIDIInputPort: input.dispose()
    case let output as MIDIOutputPort: output.dispose()
    default: throw .status(kMIDIInvalidPort, "there is no port \(port)")
    }
  }
}

// MARK: Virtual endpoints

private func makeDestination(
  _ client: MIDIClientRef, _ name: UnsafeRawPointer?, _ reader: MIDIReader
) throws(MIDIFailure) -> MIDIObject {
  let (client, name) = (try findClient(client), try unsafe midiText(name))
  return try onServer { () throws(ServerError) in
    try MIDIVirtualDestination(named: name, of: client) { reader.take($0, tag: 0) }.endpoint
  }
}

/// Implements `MIDIDestinationCreate`.
@c(MIDIDestinationCreate)
public func createMIDIDestination(
  _ client: MIDIClientRef, _ name: UnsafeRawPointer?, _ readProc: MIDIReadProc?,
  _ refCon: UnsafeMutableRawPointer?, _ outDest: UnsafeMutablePointer<MIDIEndpointRef>?
) -> OSStatus {
  answer("MIDIDestinationCreate") { () throws(MIDIFailure) in
    try unsafe putReference(in: outDest) { () throws(MIDIFailure) in
      try unsafe makeDestination(client, name, MIDIReader(calling: readProc, refCon))
    }
  }
}

/// Implements `MIDIDestinationCreateWithBlock`.
@c(MIDIDestinationCreateWithBlock)
public func createMIDIDestinationWithBlock(
  _ client: MIDIClientRef, _ name: UnsafeRawPointer?,
  _ outDest: UnsafeMutablePointer<MIDIEndpointRef>?, _ readBlock: MIDIReadBlock?
) -> OSStatus {
  answer("MIDIDestinationCreateWithBlock") { () throws(MIDIFailure) in
    try unsafe putReference(in: outDest) { () throws(MIDIFailure) in
      try unsafe makeDestination(client, name, MIDIReader(calling: readBlock))
    }
  }
}

/// Implements `MIDIDestinationCreateWithProtocol`.
@c(MIDIDestinationCreateWithProtocol)
public func createMIDIDestinationWithProtocol(
  _ client: MIDIClientRef, _ name: UnsafeRawPointer?, _ protocol: Int32,
  _ outDest: UnsafeMutablePointer<MIDIEndpointRef>?, _ readBlock: MIDIReceiveBlock?
) -> OSStatus {
  answer("MIDIDestinationCreateWithProtocol") { () throws(MIDIFailure) in
    try unsafe putReference(in: outDest) { () throws(MIDIFailure) in
      try unsafe makeDestination(client, name, MIDIReader(`protocol`, calling: readBlock))
    }
  }
}

private func makeSource(
  _ function: String, _ client: MIDIClientRef, _ name: UnsafeRawPointer?,
  _ outSource: UnsafeMutablePointer<MIDIEndpointRef>?
) -> OSStatus {
  answer(function) { () throws(MIDIFailure) in
    try unsafe putReference(in: outSource) { () throws(MIDIFailure) in
      let (client, name) = (try findClient(client), try unsafe midiText(name))
      return try onServer { () throws(ServerError) in
        try MIDIVirtualSource(named: name, of: client).endpoint
      }
    }
  }
}

/// Implements `MIDISourceCreate`.
@c(MIDISourceCreate)
public func createMIDISource(
  _ client: MIDIClientRef, _ name: UnsafeRawPointer?,
  _ outSrc: UnsafeMutablePointer<MIDIEndpointRef>?
) -> OSStatus { unsafe makeSource("MIDISourceCreate", client, name, outSrc) }

/// Implements `MIDISourceCreateWithProtocol`. What is sent becomes bytes in either protocol.
@c(MIDISourceCreateWithProtocol)
public func createMIDISourceWithProtocol(
  _ client: MIDIClientRef, _ name: UnsafeRawPointer?, _ protocol: Int32,
  _ outSrc: UnsafeMutablePointer<MIDIEndpointRef>?
) -> OSStatus { unsafe makeSource("MIDISourceCreateWithProtocol", client, name, outSrc) }

/// Removes a virtual endpoint.
@c @implementation
public func MIDIEndpointDispose(_ endpt: MIDIEndpointRef) -> OSStatus {
  answer("MIDIEndpointDispose") { () throws(MIDIFailure) in
    let endpoint = try findEndpoint(endpt)
    if let source = endpoint.virtualSource {
      source.dispose()
    } else if let destination = endpoint.virtualDestination {
      destination.dispose()
    } else {
      throw .status(kMIDINotPermitted, "“\(endpoint.port)” is not the program's own")
    }
  }
}
