import Glibc
import RealTime
import Server
import Synchronization

extension HardwareDevice {
  // MARK: Volume

  /// Gain of the functions' outputs and of the queues on the server, from 0 to 1.
  package var volume: Float { state.withLock { $0.volume } }
  package var isMute: Bool { state.withLock { $0.isMute } }

  package func setVolume(_ volume: Float) {
    if setGain({ $0.volume = volume.isNaN ? 0 : min(max(volume, 0), 1) }) { tell(.volume) }
  }

  package func setMute(_ on: Bool) {
    if setGain({ $0.isMute = on }) { tell(.mute) }
  }

  /// - Returns: True if something has changed.
  private func setGain(_ change: (inout State) -> Void) -> Bool {
    let (hasChanged, gain) = state.withLock { state in
      let old = (state.volume, state.isMute)
      change(&state)
      let gain = state.isMute ? 0 : state.volume
      if let memory = state.memory { unsafe memory.cycle.pointee.setGain(gain) }
      return (old != (state.volume, state.isMute), gain)
    }
    OutputGain.set(gain, ofServer: serverName)
    return hasChanged
  }

  // MARK: Hog mode

  /// Number of the process that hogs the device; -1 for none. It is a note for this process only: JACK
  /// has no exclusive use.
  package var hogProcess: Int32 { state.withLock { $0.hogProcess } }

  /// Takes hog mode for this process, or gives it back.
  package func toggleHog() {
    state.withLock { $0.hogProcess = $0.hogProcess == -1 ? getpid() : -1 }
    tell(.hog)
  }
}
