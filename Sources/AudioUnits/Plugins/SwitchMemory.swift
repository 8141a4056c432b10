import CRealTime
import RealTime

/// The switches of a unit that runs graph nodes.
@safe
final class SwitchMemory: @unchecked Sendable {
  let switches: UnsafeMutablePointer<NodeSwitches>

  init() {
    unsafe switches = .allocate(capacity: 1)
    unsafe switches.initialize(to: NodeSwitches())
  }

  deinit {
    unsafe switches.deinitialize(count: 1)
    unsafe switches.deallocate()
  }
}
