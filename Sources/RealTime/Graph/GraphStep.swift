/// One step of a running order: a slot with its inputs and outputs.
@safe
package struct GraphStep: BitwiseCopyable {
  let slot: UnsafeMutablePointer<GraphSlot>
  /// One for each input of the slot, for each event input, and for its controllers if there are
  /// any.
  let inputs: UnsafeMutablePointer<GraphInput>
  /// Planes that a node writes its outputs to.
  let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// Sequence of the MIDI controllers that move the node's controls; nil if there are none.
  let controllers: UnsafeMutableRawPointer?
  package init(
    _ slot: UnsafeMutablePointer<GraphSlot>, inputs: UnsafeMutablePointer<GraphInput>,
    outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    controllers: UnsafeMutableRawPointer? = nil
  ) {
    unsafe self.slot = slot
    unsafe self.inputs = inputs
    unsafe self.outputs = outputs
    unsafe self.controllers = controllers
  }
}
