import RealTime

/// Owner of a process list and its arrays, which never change.
@safe
final class ProcessListMemory {
  let processList: UnsafeMutablePointer<ProcessList>
  private let voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>
  private let recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>
  private let midiOutputs: UnsafeMutablePointer<UnsafeMutablePointer<MIDIOutput>>
  private let midiInputs: UnsafeMutablePointer<UnsafeMutablePointer<MIDIInput>>

  /// Creates a list of voices, recorders and MIDI ports, in this order, and of a graph.
  init(_ members: [CycleMember] = [], graph: UnsafeMutablePointer<GraphCycle>? = nil) {
    let capacity = max(1, members.count)
    unsafe voices = .allocate(capacity: capacity)
    unsafe recorders = .allocate(capacity: capacity)
    unsafe midiOutputs = .allocate(capacity: capacity)
    unsafe midiInputs = .allocate(capacity: capacity)
    var midiOutputCount = 0
    var midiInputCount = 0
    var count = 0
    var recorderCount = 0
    for member in members {
      switch member {
      case .voice(let voice):
        unsafe (voices + count).initialize(to: voice)
        count += 1
      case .recorder(let recorder):
        unsafe (recorders + recorderCount).initialize(to: recorder)
        recorderCount += 1
      case .midiOutput(let output):
        unsafe (midiOutputs + midiOutputCount).initialize(to: output)
        midiOutputCount += 1
      case .midiInput(let input):
        unsafe (midiInputs + midiInputCount).initialize(to: input)
        midiInputCount += 1
      }
    }
    unsafe processList = .allocate(capacity: 1)
    unsafe processList.initialize(
      to: ProcessList(
        voices: voices, count: count, recorders: recorders, recorderCount: recorderCount,
        graph: graph,
        midi: MIDIPortList(
          outputs: midiOutputs, midiOutputCount, inputs: midiInputs, midiInputCount)))
  }

  deinit {
    unsafe processList.deallocate()
    unsafe voices.deallocate()
    unsafe recorders.deallocate()
    unsafe midiOutputs.deallocate()
    unsafe midiInputs.deallocate()
  }
}
