import Sessions
import Synchronization
import Timeline

/// MIDI controllers that move values of the document, notes that start groups, and programs that recall scenes. The
/// session's thread.
extension RunningSession {
  /// Moves the values, starts the groups and recalls the scene that MIDI messages since the last call name. Of several
  /// movements of a controller, and of several programs, the last one counts. One that is refused is told, and the others
  /// are carried out.
  func followMIDI(_ engine: SessionEngine) {
    guard let tap = engine.session.tap else { return }
    var groups: [Int] = []
    var positions: [Int: Double] = [:]
    var program: (number: Int, channel: Int)?
    let mappings = engine.document.controllers
    for message in tap.take() {
      switch decoder.withLock({ $0.event(of: message) }) {
      case .note(let number, let channel):
        groups += engine.groups(triggeredBy: number, channel)
      case .program(let number, let channel): program = (number, channel)
      case .controller(let kind, let number, let channel, let position):
        for (index, mapping) in mappings.enumerated()
        where mapping.isMoved(by: kind, number, channel) && !SessionEngine.isBound(mapping) {
          positions[index] = position
        }
      case nil: break
      }
    }
    func telling(_ body: () throws(SessionRunError) -> Void) {
      do throws(SessionRunError) { try body() } catch { options.onMessage("\(error)") }
    }
    if let program {
      telling { () throws(SessionRunError) in
        try recallScene(ofProgram: program.number, program.channel)
      }
    }
    if !groups.isEmpty {
      telling { () throws(SessionRunError) in try engine.start(Array(Set(groups)).sorted()) }
    }
    for (index, position) in positions.sorted(by: { $0.key < $1.key }) {
      telling { () throws(SessionRunError) in
        try move(mappings[index], to: position, engine.document)
      }
    }
  }

  private func move(_ mapping: SessionMapping, to position: Double, _ document: SessionDocument)
    throws(SessionRunError)
  {
    let (path, shape) = try SessionRunError.session { () throws(SessionError) in
      let path = try SessionPath(mapping.target)
      return (path, try document.shape(at: path))
    }
    switch shape {
    case .flag: try apply(.set(path, .flag(position >= 0.5)))
    case .number(let range, _):
      try apply(.set(path, JSONValue(value(mapping, position, range))))
    case .integer(let range, _):
      let bounds = Double(range.lowerBound)...Double(range.upperBound)
      try apply(.set(path, .integer(Int64(held: value(mapping, position, bounds).rounded()))))
    default: break
    }
  }

  private func value(
    _ mapping: SessionMapping, _ position: Double, _ range: ClosedRange<Double>
  ) -> Double {
    // The document does not know the ranges of plugins' parameters.
    let usual = range.upperBound - range.lowerBound > 1e20 ? 0...1 : range
    let (low, high) = (mapping.low ?? usual.lowerBound, mapping.high ?? usual.upperBound)
    return min(max(low + (high - low) * position, range.lowerBound), range.upperBound)
  }
}

extension SessionMapping {
  /// Returns whether a movement of a controller is this mapping's.
  func isMoved(by kind: SessionController.Kind, _ number: Int, _ channel: Int) -> Bool {
    controller.kind == kind && controller.number == number
      && (controller.channel ?? channel) == channel
  }
}
