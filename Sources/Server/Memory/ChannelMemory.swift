import CRealTime
import RealTime

/// Memory of a voice or a recorder, with its arrays per channel and its state.
///
/// It is one piece: a cycle uses all of it, and of a thousand voices each further page would take it time.
@safe
final class ChannelMemory {
  let channels: Int
  /// Memory for the voice or the recorder.
  let member: UnsafeMutableRawPointer
  let ports: UnsafeMutablePointer<cue_port>
  let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  let meters: UnsafeMutablePointer<MeterSlot>
  let state: UnsafeMutableRawPointer

  /// - Parameters:
  ///   - ports: Largest number of ports; each has a plane.
  ///   - memberBytes: Size of the voice or the recorder.
  init(channels: Int, ports count: Int, memberBytes: Int, stateBytes: Int) {
    self.channels = channels
    var bytes = 0
    func offset(of size: Int) -> Int {
      defer { bytes += (size + 15) & ~15 }
      return bytes
    }
    let memberOffset = offset(of: memberBytes)
    let stateOffset = offset(of: stateBytes)
    let planesOffset = unsafe offset(of: count * MemoryLayout<UnsafeMutablePointer<Float>>.stride)
    let portsOffset = unsafe offset(of: count * MemoryLayout<cue_port>.stride)
    let metersOffset = offset(of: channels * MemoryLayout<MeterSlot>.stride)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
    unsafe member = memory + memberOffset
    unsafe state = memory + stateOffset
    unsafe planes = (memory + planesOffset)
      .bindMemory(to: UnsafeMutablePointer<Float>.self, capacity: count)
    unsafe ports = (memory + portsOffset).bindMemory(to: cue_port.self, capacity: count)
    unsafe ports.initialize(repeating: cue_port(), count: count)
    unsafe meters = (memory + metersOffset).bindMemory(to: MeterSlot.self, capacity: channels)
    for channel in 0..<channels { unsafe (meters + channel).initialize(to: MeterSlot()) }
  }

  deinit {
    unsafe meters.deinitialize(count: channels)
    unsafe member.deallocate()
  }
}
