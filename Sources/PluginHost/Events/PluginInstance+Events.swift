import CLilv
import CPluginRunner
import CRealTime
import Glibc
package import Graph
import Synchronization
import System

extension PluginInstance {
  // MARK: Parameters

  /// Sets a parameter by a patch:Set message.
  ///
  /// - Parameter frame: The device frame of the change; nil for as soon as possible.
  /// - Throws: `HostError`: no writable parameter with this URI, or too many pending changes.
  package func setParameter(_ uri: String, to value: ParameterValue, at frame: Int64? = nil)
    throws(HostError)
  {
    guard description.parameters.contains(where: { $0.uri == uri && $0.isWritable }) else {
      throw .unknownParameter(plugin: description.uri, parameter: uri)
    }
    try send(
      LV2.patch("Message"),
      frame, capacity: 1 << 14
    ) {
      $0.object(
        LV2.patch("Set"), [(LV2.patch("property"), .uri(uri)), (LV2.patch("value"), value)])
    }
  }

  /// Requests the value of one parameter, or of all, by a patch:Get message. The answers appear in
  /// `parameterValues` after a cycle.
  ///
  /// - Throws: `HostError`.
  package func requestParameter(_ uri: String? = nil) throws(HostError) {
    if let uri, !description.parameters.contains(where: { $0.uri == uri }) {
      throw .unknownParameter(plugin: description.uri, parameter: uri)
    }
    try send(LV2.patch("Message"), nil, capacity: 256) {
      $0.object(LV2.patch("Get"), uri.map { [(LV2.patch("property"), .uri($0))] } ?? [])
    }
  }

  /// The parameter values that the plugin has reported and that controllers have set so far, by URI.
  package var parameterValues: [String: ParameterValue] {
    shared.withLock { shared in
      for (i, parameter) in description.parameters.enumerated() {
        let moved = unsafe cue_moved_now(core.memory.movedParameters + i)
        if moved >> 32 == shared.parameterMoves[parameter.uri] ?? 0 { continue }
        shared.parameterMoves[parameter.uri] = moved >> 32
        shared.parameters[parameter.uri] = ParameterValue(
          Float(bitPattern: UInt32(truncatingIfNeeded: moved)), range: parameter.range)
      }
      return shared.parameters
    }
  }

  /// Sets the function that is called, on the plugin's worker thread, whenever the plugin reports
  /// parameter values.
  package func whenParametersChange(
    _ body: @escaping @Sendable ([String: ParameterValue]) -> Void
  ) {
    core.listener.set { [shared] message in
      shared.withLock { $0.parameters.merge(message.values) { $1 } }
      body(message.values)
    }
  }

  // MARK: Events

  /// Sends a MIDI message to the first port that accepts MIDI.
  ///
  /// - Throws: `HostError`.
  package func send(midi bytes: [UInt8], at frame: Int64? = nil) throws(HostError) {
    try send(LV2.midi("MidiEvent"), frame, capacity: 64 + bytes.count) { $0.midi(bytes) }
  }

  /// Sends the transport position to the plugin.
  ///
  /// - Throws: `HostError.notAccepted` if no port of the plugin accepts it.
  package func send(_ position: TransportPosition, at frame: Int64? = nil) throws(HostError) {
    try send(LV2.time("Position"), frame, capacity: 512) {
      $0.object(
        LV2.time("Position"),
        [
          (LV2.time("frame"), .long(position.frame)), (LV2.time("speed"), .float(position.speed)),
          (LV2.time("bar"), .long(position.bar)), (LV2.time("barBeat"), .float(position.barBeat)),
          (LV2.time("beatUnit"), .int(position.beatUnit)),
          (LV2.time("beatsPerBar"), .float(position.beatsPerBar)),
          (LV2.time("beatsPerMinute"), .float(position.beatsPerMinute)),
        ])
    }
  }

  func port(for type: String) -> Int? { core.memory.ports.eventInput(for: type) }

  private func send(
    _ type: String, _ frame: Int64?, capacity: Int, _ write: (inout AtomWriter) -> Void
  ) throws(HostError) {
    guard let port = core.memory.ports.eventInput(for: type) else {
      throw .notAccepted(plugin: description.uri, what: "<\(type)>")
    }
    var writer = AtomWriter(bytes: capacity)
    write(&writer)
    let ring = unsafe core.memory.plugin.pointee.messages!
    // The lock ensures a single producer.
    let sent = unsafe writer.withAtom { atom in
      var head = cue_message_head(
        frame: frame ?? .min, port: UInt32(port), bytes: UInt32(atom.count))
      return shared.withLock { _ in
        unsafe cue_ring_put(
          ring, &head, UInt32(MemoryLayout<cue_message_head>.size), atom.baseAddress, head.bytes)
      }
    }
    guard sent == true else { throw .tooManyChanges(plugin: description.uri) }
  }
}
