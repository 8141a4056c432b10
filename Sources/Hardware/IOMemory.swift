package import CRealTime
import RealTime
import Synchronization
import System

/// Memory of an `IOCycle` and its buffers. Threads that are not real time.
@safe
final class IOMemory: @unchecked Sendable {
  let cycle: UnsafeMutablePointer<IOCycle>
  private let buffers: UnsafeMutablePointer<IOBuffers>
  private let samples: [UnsafeMutableBufferPointer<Float>]

  init(inputs: Int, outputs: Int, callFrames: Int, sampleRate: Double) {
    func memory(_ count: Int) -> UnsafeMutableBufferPointer<Float> {
      let memory = UnsafeMutableBufferPointer<Float>.allocate(capacity: max(count, 1))
      unsafe memory.initialize(repeating: 0)
      unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
      return unsafe memory
    }
    let stored = IOCycle.mostStoredFrames
    unsafe samples = [
      memory(stored * inputs), memory(stored * outputs), memory(IOCycle.mostCallFrames * outputs),
    ]
    unsafe buffers = .allocate(capacity: 1)
    unsafe buffers.initialize(
      to: IOBuffers(
        input: samples[0].baseAddress!, output: samples[1].baseAddress!,
        scratch: samples[2].baseAddress!))
    unsafe cycle = .allocate(capacity: 1)
    unsafe cycle.initialize(
      to: IOCycle(
        inputs: inputs, outputs: outputs, callFrames: callFrames, sampleRate: sampleRate,
        buffers: buffers))
  }

  deinit {
    unsafe cycle.deinitialize(count: 1)
    unsafe cycle.deallocate()
    unsafe buffers.deallocate()
    for i in unsafe samples.indices {
      unsafe unlockFromMemory(UnsafeRawBufferPointer(samples[i]))
      unsafe samples[i].deallocate()
    }
  }
}

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

/// The list of functions that cycles read.
@safe
final class IOListMemory: @unchecked Sendable {
  let list: UnsafeMutablePointer<IOList>
  private let slots: UnsafeMutablePointer<UnsafeMutablePointer<IOSlot>>
  private let functions: [IOFunction]

  init(_ functions: [IOFunction]) {
    self.functions = functions
    unsafe slots = .allocate(capacity: max(functions.count, 1))
    for (i, function) in functions.enumerated() {
      unsafe (slots + i).initialize(to: function.slot)
    }
    unsafe list = .allocate(capacity: 1)
    unsafe list.initialize(to: IOList(slots: slots, count: functions.count))
  }

  deinit {
    unsafe list.deallocate()
    unsafe slots.deallocate()
  }
}
