/// The binding of a MIDI controller to a target.
package struct MIDIBinding: Codable, Hashable, Sendable {
  package var controller: MIDIController
  package var target: MIDITarget

  package init(_ controller: MIDIController, to target: MIDITarget) {
    self.controller = controller
    self.target = target
  }
}
