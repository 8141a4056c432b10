import AudioUnits
import CAudioToolbox
import CRealTime
import Timeline

// The property by which plugins learn of beat and transport.

extension UnitProperty {
  /// The entry of the functions that tell of JACK's transport, for output units, or of those that were set;
  /// nil if the unit has none.
  func hostCallbackEntry() -> Entry? {
    guard id == kAudioUnitProperty_HostCallbacks else { return nil }
    if handle.output != nil { return unsafe Entry.value(jackCallbacks) }
    guard let plugin = unit as? LV2Unit else { return nil }
    return unsafe Entry.value(plugin.hostCallbacks ?? cue_host_callbacks()).setting(
      setCallbacks(plugin))
  }

  private func setCallbacks(_ plugin: LV2Unit) {
    var callbacks = unsafe cue_host_callbacks()
    // Older programs have a structure without the last functions. All members are pointers, and part of one
    // is none.
    let pointer = unsafe MemoryLayout<UnsafeRawPointer>.size
    let data = unsafe input.bytes
    let size = unsafe min(data.count, MemoryLayout<cue_host_callbacks>.size) / pointer * pointer
    unsafe withUnsafeMutableBytes(of: &callbacks) { bytes in
      unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: data[..<size]))
    }
    let isNone =
      unsafe callbacks.beat_and_tempo == nil && callbacks.musical_time == nil
      && callbacks.transport_state == nil
    unsafe plugin.setHostCallbacks(isNone ? nil : callbacks)
  }
}

/// Functions that tell of JACK's beat and transport, in the renders of an output unit.
private var jackCallbacks: HostCallbackInfo {
  unsafe HostCallbackInfo(
    hostUserData: nil,
    beatAndTempoProc: { _, beat, tempo in
      guard let now = unsafe cue_rt_thread_transport(), unsafe now.pointee.has_beats else {
        return kAudioUnitErr_CannotDoInCurrentContext
      }
      let state = unsafe now.pointee
      unsafe beat?.pointee = Double(state.bar) * Double(state.beats_per_bar) + state.bar_beat
      unsafe tempo?.pointee = state.beats_per_minute
      return noErr
    },
    musicalTimeLocationProc: { _, framesToBeat, numerator, denominator, downBeat in
      guard let now = unsafe cue_rt_thread_transport(), unsafe now.pointee.has_beats else {
        return kAudioUnitErr_CannotDoInCurrentContext
      }
      let state = unsafe now.pointee
      let beats = state.bar_beat.rounded(.up) - state.bar_beat
      let frames = beats * 60 / state.beats_per_minute * state.frames_per_second
      unsafe framesToBeat?.pointee = UInt32(held: frames.rounded())
      unsafe numerator?.pointee = state.beats_per_bar
      unsafe denominator?.pointee = UInt32(state.beat_unit)
      unsafe downBeat?.pointee = Double(state.bar) * Double(state.beats_per_bar)
      return noErr
    },
    transportStateProc: { _, isPlaying, hasChanged, frame, isCycling, cycleStart, cycleEnd in
      guard let now = unsafe cue_rt_thread_transport() else {
        return kAudioUnitErr_CannotDoInCurrentContext
      }
      unsafe isPlaying?.pointee = now.pointee.is_rolling
      unsafe hasChanged?.pointee = false
      unsafe frame?.pointee = Double(now.pointee.frame)
      unsafe isCycling?.pointee = false
      unsafe cycleStart?.pointee = 0
      unsafe cycleEnd?.pointee = 0
      return noErr
    },
    transportStateProc2: nil)
}
