import CJack
import CRealTime
import Timeline

/// JACK's transport: its control, which any client has, and its timebase, which one client has at a time.
extension JackClient {
  func startTransport() { _ = whileOpen { unsafe jack_transport_start(client) } }

  func stopTransport() { _ = whileOpen { unsafe jack_transport_stop(client) } }

  func locateTransport(to frame: Int64) {
    _ = whileOpen {
      unsafe jack_transport_locate(client, jack_nframes_t(clamping: frame))
    }
  }

  func becomeTimebase(_ tempo: TransportTempo) -> Bool {
    // The callback may run until the client is closed, so the memory is never freed.
    let memory = UnsafeMutablePointer<cue_tempo>.allocate(capacity: 1)
    unsafe memory.initialize(
      to: cue_tempo(
        beats_per_minute: tempo.bpm, beats_per_bar: tempo.beatsPerBar,
        beat_unit: Double(tempo.beatUnit)))
    let status = whileOpen {
      unsafe jack_set_timebase_callback(client, 1, tellBeats, memory)
    }
    return status == 0
  }

  func joinTransportStarts() -> TransportSync? {
    // Device frames are no frames of PipeWire's counter.
    if isPipeWire { return nil }
    let sync = unsafe TransportSync(client)
    let status = whileOpen { unsafe jack_set_sync_callback(client, getReady, sync.memory) }
    return status == 0 ? sync : nil
  }

  var transportMoment: TransportMoment? {
    var position = jack_position_t()
    let state = whileOpen { unsafe jack_transport_query(client, &position) }
    guard state == JackTransportRolling, position.usecs > 0 else { return nil }
    return TransportMoment(frame: Int64(position.frame), microseconds: position.usecs)
  }

  /// The drivers of sound cards, and the dummy driver, give their ports aliases; netone gives none.
  var isDrivenByNetwork: Bool {
    let ports = physicalOutputs + physicalInputs
    if isPipeWire || ports.isEmpty { return false }
    // libjack copies the aliases.
    let size = Int(jack_port_name_size())
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 * size) { text in
      guard let first = text.baseAddress else { return false }
      var aliases: [UnsafeMutablePointer<CChar>?] = unsafe [first, first + size]
      return whileOpen {
        ports.allSatisfy { name in
          guard let port = unsafe jack_port_by_name(client, name) else { return true }
          return unsafe jack_port_get_aliases(port, &aliases) == 0
        }
      } ?? false
    }
  }
}

/// JACK's sync callback. `argument` is a `cue_sync`. Process thread.
@_noLocks private func getReady(
  _ state: jack_transport_state_t, _ position: UnsafeMutablePointer<jack_position_t>?,
  _ argument: UnsafeMutableRawPointer?
) -> CInt {
  guard let position = unsafe position, let argument = unsafe argument else { return 1 }
  return unsafe cue_rt_sync(argument.assumingMemoryBound(to: cue_sync.self), state, position)
}

/// JACK's timebase callback. `argument` is a `cue_tempo`. Process thread.
@_noLocks private func tellBeats(
  _ state: jack_transport_state_t, _ frames: jack_nframes_t,
  _ position: UnsafeMutablePointer<jack_position_t>?, _ isNew: CInt,
  _ argument: UnsafeMutableRawPointer?
) {
  guard let position = unsafe position, let argument = unsafe argument else { return }
  unsafe cue_rt_set_beats(argument.assumingMemoryBound(to: cue_tempo.self), position)
}
