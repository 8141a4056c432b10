import CAudioToolbox
import Logging
import MIDI
import Server
import System

/// The reason why a call of Core MIDI fails.
enum MIDIFailure: APIFailure {
  case badArgument(String)
  case status(OSStatus, String)
  case server(ServerError)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .status(let status, _): status
    case .server(.noSuchPort), .server(.noSuchSource): kMIDIUnknownEndpoint
    case .server(.cannotAddPort), .server(.cannotConnect): kMIDIMessageSendErr
    case .server: kMIDIServerStartErr
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let text), .status(_, let text): text
    case .server(let error): "\(error)"
    }
  }

  var level: Logger.Level {
    switch self {
    case .server(.lost), .server(.noSuchPort), .server(.noSuchSource): .warning
    case .server: .error
    case .badArgument, .status: .warning
    }
  }
}

/// Runs `body`, which asks the server for something.
func onServer<R>(_ body: () throws(ServerError) -> R) throws(MIDIFailure) -> R {
  do throws(ServerError) { return try body() } catch { throw .server(error) }
}

func findClient(_ reference: MIDIClientRef) throws(MIDIFailure) -> MIDIClient {
  guard let client = MIDIObject.find(reference, as: MIDIClient.self) else {
    throw .status(kMIDIInvalidClient, "there is no client \(reference)")
  }
  return client
}

func findPort<Port: MIDIObject>(_ reference: MIDIPortRef, as type: Port.Type)
  throws(MIDIFailure) -> Port
{
  guard let port = MIDIObject.find(reference, as: type) else {
    throw .status(kMIDIInvalidPort, "there is no port \(reference) of that direction")
  }
  return port
}

func findEndpoint(_ reference: MIDIEndpointRef, isSource: Bool? = nil) throws(MIDIFailure)
  -> MIDIEndpoint
{
  guard let endpoint = MIDIObject.find(reference, as: MIDIEndpoint.self) else {
    throw .status(kMIDIUnknownEndpoint, "there is no endpoint \(reference)")
  }
  if let isSource, endpoint.isSource != isSource {
    throw .status(
      kMIDIWrongEndpointType,
      "“\(endpoint.port)” is a \(endpoint.isSource ? "source" : "destination")")
  }
  return endpoint
}

/// Creates an object with `make` and stores its number in `destination`. Stores 0 if `make` throws.
func putReference(
  in destination: UnsafeMutablePointer<MIDIObjectRef>?,
  _ make: () throws(MIDIFailure) -> MIDIObject
) throws(MIDIFailure) {
  guard let destination = unsafe destination, UInt(bitPattern: destination) != 0 else {
    throw .badArgument("there is nowhere to put what was made")
  }
  unsafe destination.pointee = 0
  let reference = try make().reference
  unsafe destination.pointee = reference
}

/// Returns the text of a CFString that the caller passes.
func midiText(_ pointer: UnsafeRawPointer?) throws(MIDIFailure) -> String {
  guard let text = unsafe text(ofString: pointer) else { throw .badArgument("a string is NULL") }
  return text
}
