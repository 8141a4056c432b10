/// Process list: the voices that a cycle plays, in order, then the graph that it runs, then the
/// recorders that it fills. Never changed once a cycle can read it.
@safe
package struct ProcessList: BitwiseCopyable {
  let voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>
  let count: Int
  let recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>?
  let recorderCount: Int
  let graph: UnsafeMutablePointer<GraphCycle>?
  /// Creates a process list of `count` voices, of recorders and of a graph, in memory that the
  /// caller owns.
  package init(
    voices: UnsafeMutablePointer<UnsafeMutablePointer<Voice>>, count: Int,
    recorders: UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>? = nil, recorderCount: Int = 0,
    graph: UnsafeMutablePointer<GraphCycle>? = nil
  ) {
    unsafe self.voices = voices
    self.count = count
    unsafe self.recorders = recorders
    self.recorderCount = recorderCount
    unsafe self.graph = graph
  }
}
