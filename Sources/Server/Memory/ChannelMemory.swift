import CRealTime
import RealTime

/// Arrays per channel, and the state, of a voice or a recorder.
@safe
final class ChannelMemory {
  let channels: Int
  let ports: UnsafeMutablePointer<cue_port>
  let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let meters: UnsafeMutablePointer<MeterSlot>
  let state: UnsafeMutableRawPointer

  /// - Parameter ports: Largest number of ports; each has a plane.
  init(channels: Int, ports count: Int, stateBytes: Int) {
    self.channels = channels
    unsafe ports = .allocate(capacity: count)
    unsafe ports.initialize(repeating: cue_port(), count: count)
    unsafe planes = .allocate(capacity: count)
    unsafe meters = .allocate(capacity: channels)
    for channel in 0..<channels { unsafe (meters + channel).initialize(to: MeterSlot()) }
    unsafe state = .allocate(byteCount: stateBytes, alignment: 16)
  }

  deinit {
    unsafe state.deallocate()
    unsafe meters.deinitialize(count: channels)
    unsafe meters.deallocate()
    unsafe planes.deallocate()
    unsafe ports.deallocate()
  }
}
