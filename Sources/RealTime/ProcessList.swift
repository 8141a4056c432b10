/// Process list: the voices that a cycle plays, in order, then the graph that it runs, then the
/// recorders that it fills, then its MIDI ports. Never changed once a cycle can read it.
@safe
package struct ProcessList: BitwiseCopyable {
  let voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>
  let count: Int
  let recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>?
  let recorderCount: Int
  let graph: UnsafeMutablePointer<GraphCycle>?
  let midi: MIDIPortList
  /// Creates a process list of `count` voices, of recorders, of a graph and of MIDI ports, in memory that
  /// the caller owns.
  package init(
    voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>, count: Int,
    recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>? = nil, recorderCount: Int = 0,
    graph: UnsafeMutablePointer<GraphCycle>? = nil, midi: MIDIPortList = MIDIPortList()
  ) {
    unsafe self.voices = voices
    self.count = count
    unsafe self.recorders = recorders
    self.recorderCount = recorderCount
    unsafe self.graph = graph
    self.midi = midi
  }
}

/// The MIDI ports of a process list, in memory that the caller owns.
@safe
package struct MIDIPortList: BitwiseCopyable {
  private let outputs: UnsafeMutablePointer<UnsafeMutablePointer<MIDIOutput>>?
  private let outputCount: Int
  private let inputs: UnsafeMutablePointer<UnsafeMutablePointer<MIDIInput>>?
  private let inputCount: Int

  package init() {
    unsafe outputs = nil
    unsafe inputs = nil
    (outputCount, inputCount) = (0, 0)
  }

  package init(
    outputs: UnsafeMutablePointer<UnsafeMutablePointer<MIDIOutput>>, _ outputCount: Int,
    inputs: UnsafeMutablePointer<UnsafeMutablePointer<MIDIInput>>, _ inputCount: Int
  ) {
    unsafe self.outputs = outputs
    unsafe self.inputs = inputs
    self.outputCount = outputCount
    self.inputCount = inputCount
  }

  /// Runs the outputs, then the inputs, so that an input reads what an output of the same client sends.
  ///
  /// - Returns: True if a thread has something to read.
  @_noLocks func cycle(_ time: CycleTime) -> Bool {
    var happened = false
    if let outputs = unsafe outputs {
      for i in 0..<outputCount where unsafe outputs[i].pointee.cycle(time) { happened = true }
    }
    if let inputs = unsafe inputs {
      for i in 0..<inputCount where unsafe inputs[i].pointee.cycle(time) { happened = true }
    }
    return happened
  }

  /// Returns true if a cycle might lose messages, because nobody has read those before.
  @_noLocks func lacksRoom(givingUp: Bool) -> Bool {
    guard let inputs = unsafe inputs, inputCount > 0 else { return false }
    // All inputs of a client have one ring.
    return unsafe inputs[0].pointee.lacksRoom(givingUp: givingUp)
  }
}
