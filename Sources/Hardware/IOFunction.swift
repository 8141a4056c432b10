package import CRealTime
import RealTime
import Synchronization

/// An I/O function of the app on a device. Any thread, except where said.
@safe
package final class IOFunction: @unchecked Sendable {
  let slot: UnsafeMutablePointer<IOSlot>
  /// The owner of the function's context.
  private let owner: AnyObject
  /// Held while the function is started, and while another thread stops it. Lock it before the locks of
  /// the device.
  let starting = Mutex<Void>(())
  /// Set for good when the function is removed. The device's state guards it.
  var isRemoved = false

  /// - Parameters:
  ///   - function: The function, called on the process thread, and its context.
  ///   - owner: The owner of the context, retained as long as a cycle may call the function.
  ///   - keepsSound: Whether it has a tail to render after it was stopped inside a call: see `IOSlot`.
  package init(_ function: cue_io_function, keeping owner: AnyObject, keepsSound: Bool = false) {
    unsafe slot = .allocate(capacity: 1)
    unsafe slot.initialize(to: IOSlot(function, keepsSound: keepsSound))
    self.owner = owner
  }

  deinit {
    unsafe slot.deinitialize(count: 1)
    unsafe slot.deallocate()
  }

  package var isRunning: Bool { unsafe slot.pointee.isRunning }
  /// Ends the play of what the function has given before it was stopped.
  package func endDrain() { unsafe slot.pointee.endDrain() }
  /// Whether the function gets the inputs' samples, and whether its output is heard.
  package var usesInput: Bool { unsafe slot.pointee.usesInput }
  package var usesOutput: Bool { unsafe slot.pointee.usesOutput }
  package func setUse(input: Bool, output: Bool) {
    unsafe slot.pointee.setUse(input: input, output: output)
  }
}
