public import CAudioToolbox
public import Dispatch

// Functions with closures and dispatch queues. On Linux, Swift's `DispatchQueue` is not C's `dispatch_queue_t`.

/// Lets a closure hear of the changes of a property, one after the other: on a dispatch queue, or on a thread of the
/// library.
@discardableResult
public func AudioObjectAddPropertyListenerBlock(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inDispatchQueue: DispatchQueue?, _ inListener: @escaping AudioObjectPropertyListenerBlock
) -> OSStatus {
  unsafe answer("AudioObjectAddPropertyListenerBlock", needs: inAddress) {
    () throws(HardwareError) in
    let queue = inDispatchQueue.map { DispatchQueue(label: "cuejack.callbacks", target: $0) }
    try unsafe HardwareListeners.shared.add(
      .closure(.init(call: inListener), on: queue), to: inObjectID, inAddress.pointee)
  }
}

/// Lets a closure hear of the property no more. It must be the value that was added: another closure with the same
/// text is another one.
@discardableResult
public func AudioObjectRemovePropertyListenerBlock(
  _ inObjectID: AudioObjectID, _ inAddress: UnsafePointer<AudioObjectPropertyAddress>,
  _ inDispatchQueue: DispatchQueue?, _ inListener: @escaping AudioObjectPropertyListenerBlock
) -> OSStatus {
  unsafe answer("AudioObjectRemovePropertyListenerBlock", needs: inAddress) {
    () throws(HardwareError) in
    try unsafe HardwareListeners.shared.remove(
      .closure(.init(call: inListener), on: nil), from: inObjectID, inAddress.pointee)
  }
}

/// A closure that a device calls in each cycle: present time, input and its time, output and its time.
public typealias AudioDeviceIOBlock = (
  UnsafePointer<AudioTimeStamp>, UnsafePointer<AudioBufferList>, UnsafePointer<AudioTimeStamp>,
  UnsafeMutablePointer<AudioBufferList>, UnsafePointer<AudioTimeStamp>
) -> Void

/// Adds a closure to a device. The device calls it on the process thread; or on a dispatch queue, while the process
/// thread waits: a queue that does something else then costs an xrun.
@discardableResult
public func AudioDeviceCreateIOProcIDWithBlock(
  _ outIOProcID: UnsafeMutablePointer<AudioDeviceIOProcID?>, _ inDevice: AudioObjectID,
  _ inDispatchQueue: DispatchQueue?, _ inIOBlock: @escaping AudioDeviceIOBlock
) -> OSStatus {
  unsafe answer("AudioDeviceCreateIOProcIDWithBlock", needs: outIOProcID) {
    () throws(HardwareError) in
    unsafe outIOProcID.pointee = nil
    let device = try HardwareObjects.shared.device(inDevice)
    let block = unsafe IOBlock(inIOBlock, on: inDispatchQueue)
    let handle = unsafe IOProcs.shared.add(
      { _, now, input, inputTime, output, outputTime, block in
        unsafe Unmanaged<IOBlock>.fromOpaque(block!)._withUnsafeGuaranteedRef {
          unsafe $0.call(now, input, inputTime, output, outputTime)
        }
        return noErr
      }, Unmanaged.passUnretained(block).toOpaque(), to: device, keeping: block)
    unsafe outIOProcID.pointee = unsafeBitCast(handle, to: AudioDeviceIOProcID?.self)
  }
}

/// A closure of a device and its dispatch queue.
@safe private final class IOBlock {
  let call: AudioDeviceIOBlock

  init(_ block: @escaping AudioDeviceIOBlock, on queue: DispatchQueue?) {
    guard let queue else {
      unsafe call = block
      return
    }
    unsafe call = { now, input, inputTime, output, outputTime in
      queue.sync { unsafe block(now, input, inputTime, output, outputTime) }
    }
  }
}

/// Makes an audio unit and passes it to a closure, on a queue of the system. The options make no difference.
public func AudioComponentInstantiate(
  _ inComponent: AudioComponent, _ inOptions: AudioComponentInstantiationOptions,
  _ inCompletionHandler: @escaping (AudioComponentInstance?, OSStatus) -> Void
) {
  var unit: AudioComponentInstance?
  let status = unsafe AudioComponentInstanceNew(inComponent, &unit)
  nonisolated(unsafe) let (made, handler) = unsafe (unit, inCompletionHandler)
  DispatchQueue.global().async { unsafe handler(made, status) }
}
