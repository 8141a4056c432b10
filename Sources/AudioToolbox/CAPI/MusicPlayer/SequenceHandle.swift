import AudioUnits
import CAudioToolbox
import Music
import Synchronization

/// A sequence as C programs hold it, with the numbers of its tracks. Any thread that is not real time.
final class SequenceHandle: Sendable {
  static let all = HandleTable<SequenceHandle>()
  static let tracks = HandleTable<TrackHandle>()

  let sequence: EventSequence
  let handle: UInt
  private struct State {
    var tracks: [Int: UInt] = [:]
    /// The graph by its number; 0 for none, or one of the library's own.
    var graph: UInt = 0
    var hasOwnGraph = false
  }
  private let state = Mutex(State())

  init(_ sequence: EventSequence, _ handle: UInt) {
    self.sequence = sequence
    self.handle = handle
  }

  static func find(_ reference: MusicSequence?) throws(MusicFailure) -> SequenceHandle {
    guard let found = all.object(UInt(bitPattern: reference)) else {
      throw .badArgument("there is no such sequence")
    }
    return found
  }

  /// Returns the number of a track, which gets one when it is first asked for.
  func reference(of track: EventTrack) -> MusicTrack? {
    let number = state.withLock { state in
      if let known = state.tracks[track.id] { return known }
      let number = Self.tracks.add { (_) in TrackHandle(track: track, owner: self) }
      state.tracks[track.id] = number
      return number
    }
    return unsafe MusicTrack(bitPattern: number)
  }

  func forget(_ track: EventTrack) {
    let number = state.withLock { $0.tracks.removeValue(forKey: track.id) }
    if let number { Self.tracks.remove(number) }
  }

  // MARK: The graph

  /// The number of the graph; 0 for none.
  var graph: UInt { state.withLock { $0.graph } }

  func setGraph(_ number: UInt) throws(MusicFailure) {
    var target: GraphTarget?
    if number != 0 {
      guard let graph = graphs.object(number) else { throw .badArgument("there is no such graph") }
      target = GraphTarget(graph)
    }
    try onMusic { [target] () throws(MusicError) in try sequence.setTarget(target) }
    adopt(number, isOwn: false)
  }

  private func adopt(_ number: UInt, isOwn: Bool) {
    let old = state.withLock { state -> UInt in
      defer { (state.graph, state.hasOwnGraph) = (number, isOwn) }
      return state.hasOwnGraph ? state.graph : 0
    }
    if old != 0 { _ = unsafe DisposeAUGraph(AUGraph(bitPattern: old)) }
  }

  /// Makes a graph of the default synthesiser and the default output, if the sequence has none. If all tracks have
  /// endpoints, a mixer that is silent takes the synthesiser's place.
  ///
  /// - Parameter withSynthesiser: True for a synthesiser in any case.
  func makeGraphIfNeeded(withSynthesiser: Bool = false) throws(MusicFailure) {
    let isPlayed = withSynthesiser || sequence.needsInstrument
    if let target = sequence.target {
      let hasOwnGraph = state.withLock { $0.hasOwnGraph }
      if hasOwnGraph, isPlayed, let target = target as? GraphTarget, !target.hasInstrument {
        let synthesiser = try defaultSynthesiser()
        try onGraph { () throws(UnitGraphError) in try target.replaceSource(by: synthesiser) }
      }
      return
    }
    let source = isPlayed ? try defaultSynthesiser() : UnitKind.multiChannelMixer.component
    var reference: AUGraph?
    guard unsafe NewAUGraph(&reference) == noErr, let reference = unsafe reference,
      let graph = graphs.object(UInt(bitPattern: reference))
    else { throw .music(.noDestination("there is no graph")) }
    let target = GraphTarget(graph)
    do throws(MusicFailure) {
      try onGraph { () throws(UnitGraphError) in
        _ = try graph.addNode(UnitKind.defaultOutput.component)
        try target.replaceSource(by: source)
      }
      try onMusic { () throws(MusicError) in try sequence.setTarget(target) }
    } catch {
      _ = unsafe DisposeAUGraph(reference)
      throw error
    }
    adopt(UInt(bitPattern: reference), isOwn: true)
  }

  private func defaultSynthesiser() throws(MusicFailure) -> UnitComponent {
    let description = AudioUnits.ComponentDescription("aumu", "dls ")
    guard let component = ComponentList.shared.next(after: nil, matching: description) else {
      throw .music(
        .noDestination(
          "the sequence has no graph (MusicSequenceSetAUGraph), and there is no synthesiser for one"
        ))
    }
    return component
  }

  private func onGraph(_ body: () throws(UnitGraphError) -> Void) throws(MusicFailure) {
    do throws(UnitGraphError) { try body() } catch {
      throw .status(AUGraphError.graph(error).status, AUGraphError.graph(error).reason)
    }
  }

  /// Ends the sequence. Its tracks are unknown afterwards.
  func dispose() {
    try? sequence.setTarget(nil)
    adopt(0, isOwn: false)
    let numbers = state.withLock { state in
      defer { state.tracks = [:] }
      return state.tracks.values.map { $0 }
    }
    for number in numbers { Self.tracks.remove(number) }
  }
}
