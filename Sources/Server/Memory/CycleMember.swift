package import RealTime

/// A member of a process list.
@safe
package enum CycleMember {
  case voice(UnsafeMutablePointer<Voice>)
  case recorder(UnsafeMutablePointer<Recorder>)
  case midiOutput(UnsafeMutablePointer<MIDIOutput>)
  case midiInput(UnsafeMutablePointer<MIDIInput>)
}
