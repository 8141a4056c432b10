public import CAudioToolbox
import Foundation
import MIDI
import Server
import Synchronization

// The functions of MIDIThruConnection.h. The header documents each function.

/// A thru connection of a program, whose parts are made anew with other parameters.
private final class ThruConnection: Sendable {
  let owner: String?
  let state: Mutex<(parameters: [UInt8], thru: MIDIThru)>

  init(_ owner: String?, _ parameters: [UInt8]) throws(MIDIFailure) {
    self.owner = owner
    state = Mutex((parameters, try makeThru(parameters)))
  }

  static let all = Mutex<[MIDIThruConnectionRef: ThruConnection]>([:])

  static func find(_ reference: MIDIThruConnectionRef) throws(MIDIFailure) -> ThruConnection {
    guard let connection = all.withLock({ $0[reference] }) else {
      throw .status(kMIDIObjectNotFound, "there is no thru connection \(reference)")
    }
    return connection
  }
}

private func makeThru(_ parameters: [UInt8]) throws(MIDIFailure) -> MIDIThru {
  guard parameters.count >= MemoryLayout<MIDIThruConnectionParams>.size else {
    throw .badArgument(
      "\(parameters.count) bytes are no MIDIThruConnectionParams, which has \(MemoryLayout<MIDIThruConnectionParams>.size)"
    )
  }
  let values = unsafe parameters.withUnsafeBytes {
    unsafe $0.loadUnaligned(as: MIDIThruConnectionParams.self)
  }
  let most = UInt32(kMIDIThruConnection_MaxEndpoints)
  guard values.version == 0, values.numSources <= most, values.numDestinations <= most else {
    throw .badArgument(
      "version \(values.version), \(values.numSources) sources, \(values.numDestinations) destinations"
    )
  }
  guard values.numControlTransforms == 0, values.numMaps == 0 else {
    throw .status(kMIDINotPermitted, "there are no control transforms and value maps")
  }
  let sources = try endpoints(values.sources, values.numSources, areSources: true)
  let destinations = try endpoints(values.destinations, values.numDestinations, areSources: false)
  let rules = try MIDIThruRules(values)
  guard let client = MIDISetup.shared.client else {
    throw .status(kMIDIServerStartErr, "there is no client")
  }
  return try onServer { () throws(ServerError) in
    try MIDIThru(from: sources, to: destinations, rules, of: client)
  }
}

/// Returns the endpoints of an array of a structure of C.
private func endpoints<Array8: BitwiseCopyable>(
  _ array: Array8, _ count: UInt32, areSources: Bool
) throws(MIDIFailure) -> [MIDIEndpoint] {
  let entries = unsafe withUnsafeBytes(of: array) {
    unsafe Array($0.bindMemory(to: MIDIThruConnectionEndpoint.self).prefix(Int(count)))
  }
  var endpoints: [MIDIEndpoint] = []
  for entry in entries {
    let reference =
      entry.endpointRef != 0
      ? entry.endpointRef : MIDIObject.find(uniqueID: entry.uniqueID)?.reference ?? 0
    endpoints.append(try findEndpoint(reference, isSource: areSources))
  }
  return endpoints
}

extension MIDIThruRules {
  fileprivate init(_ values: MIDIThruConnectionParams) throws(MIDIFailure) {
    self.init()
    channels = unsafe withUnsafeBytes(of: values.channelMap) { unsafe Array($0) }
    let (low, high) = (min(values.lowVelocity, 127), min(values.highVelocity, 127))
    velocities = low...max(low, high)
    (lowNote, highNote) = (values.lowNote, values.highNote)
    note = try Change(values.noteNumber)
    velocity = try Change(values.velocity)
    keyPressure = try Change(values.keyPressure)
    channelPressure = try Change(values.channelPressure)
    program = try Change(values.programChange)
    bend = try Change(values.pitchBend)
    dropsExclusive = values.filterOutSysEx != 0
    dropsTimeCode = values.filterOutMTC != 0
    dropsClock = values.filterOutBeatClock != 0
    dropsTuneRequest = values.filterOutTuneRequest != 0
    dropsControls = values.filterOutAllControls != 0
  }
}

extension MIDIThruRules.Change {
  fileprivate init(_ transform: MIDITransform) throws(MIDIFailure) {
    let number = Int(transform.param)
    switch transform.transform {
    case .none: self = .none
    case .filterOut: self = .drop
    case .add: self = .add(number)
    case .scale: self = .scale(number)
    case .minValue: self = .atLeast(number)
    case .maxValue: self = .atMost(number)
    default:
      throw .status(
        kMIDINotPermitted, "there is no transform \(transform.transform.rawValue) here")
    }
  }
}

/// Initialises the parameters of a connection.
@c @implementation
public func MIDIThruConnectionParamsInitialize(
  _ inConnectionParams: UnsafeMutablePointer<MIDIThruConnectionParams>
) {
  if unsafe hasNull([inConnectionParams]) { return }
  var values = MIDIThruConnectionParams()
  unsafe withUnsafeMutableBytes(of: &values.channelMap) { map in
    for channel in 0..<16 { unsafe map[channel] = UInt8(channel) }
  }
  values.highVelocity = 127
  values.highNote = 127
  unsafe inConnectionParams.pointee = values
}

/// Implements `MIDIThruConnectionCreate`. Raw pointers replace the Core Foundation references here and below.
@c(MIDIThruConnectionCreate)
public func createMIDIThruConnection(
  _ inPersistentOwnerID: UnsafeRawPointer?, _ inConnectionParams: UnsafeRawPointer?,
  _ outConnection: UnsafeMutablePointer<MIDIThruConnectionRef>?
) -> OSStatus {
  answer("MIDIThruConnectionCreate") { () throws(MIDIFailure) in
    guard let outConnection = unsafe outConnection else { throw .badArgument("a pointer is NULL") }
    unsafe outConnection.pointee = 0
    let connection = try unsafe ThruConnection(
      text(ofString: inPersistentOwnerID), bytes(ofData: inConnectionParams))
    let reference = connection.state.withLock { $0.thru.reference }
    ThruConnection.all.withLock { $0[reference] = connection }
    unsafe outConnection.pointee = reference
    MIDISetup.shared.noteThruConnections()
  }
}

/// Removes a connection.
@c @implementation
public func MIDIThruConnectionDispose(_ connection: MIDIThruConnectionRef) -> OSStatus {
  answer("MIDIThruConnectionDispose") { () throws(MIDIFailure) in
    let removed = try ThruConnection.find(connection)
    ThruConnection.all.withLock { $0[connection] = nil }
    removed.state.withLock { $0.thru }.dispose()
    MIDISetup.shared.noteThruConnections()
  }
}

/// Stores bytes as data, which the caller releases.
private func put(_ bytes: [UInt8], in destination: UnsafeMutablePointer<UnsafeRawPointer?>?)
  throws(MIDIFailure)
{
  guard let destination = unsafe destination else { throw .badArgument("a pointer is NULL") }
  let data = unsafe NSData(bytes: bytes, length: bytes.count)
  unsafe destination.pointee = UnsafeRawPointer(Unmanaged.passRetained(data).toOpaque())
}

/// Implements `MIDIThruConnectionGetParams`.
@c(MIDIThruConnectionGetParams)
public func getMIDIThruConnectionParams(
  _ connection: MIDIThruConnectionRef,
  _ outConnectionParams: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> OSStatus {
  answer("MIDIThruConnectionGetParams") { () throws(MIDIFailure) in
    let parameters = try ThruConnection.find(connection).state.withLock { $0.parameters }
    try unsafe put(parameters, in: outConnectionParams)
  }
}

/// Implements `MIDIThruConnectionSetParams`.
@c(MIDIThruConnectionSetParams)
public func setMIDIThruConnectionParams(
  _ connection: MIDIThruConnectionRef, _ inConnectionParams: UnsafeRawPointer?
) -> OSStatus {
  answer("MIDIThruConnectionSetParams") { () throws(MIDIFailure) in
    let connection = try ThruConnection.find(connection)
    let parameters = try unsafe bytes(ofData: inConnectionParams)
    let fresh = try makeThru(parameters)
    let old = connection.state.withLock { state in
      defer { state = (parameters, fresh) }
      return state.thru
    }
    old.dispose()
    MIDISetup.shared.noteThruConnections()
  }
}

/// Implements `MIDIThruConnectionFind`.
@c(MIDIThruConnectionFind)
public func findMIDIThruConnections(
  _ inPersistentOwnerID: UnsafeRawPointer?,
  _ outConnectionList: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> OSStatus {
  answer("MIDIThruConnectionFind") { () throws(MIDIFailure) in
    let owner = try unsafe midiText(inPersistentOwnerID)
    let found = ThruConnection.all.withLock { all in
      all.filter { $0.value.owner == owner }.keys.sorted()
    }
    try unsafe put(found.withUnsafeBytes { unsafe Array($0) }, in: outConnectionList)
  }
}
