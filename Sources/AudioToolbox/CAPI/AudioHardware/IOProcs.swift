import CAudioToolbox
import Hardware
import Synchronization

/// The IOProcs of this process. Any thread.
final class IOProcs: Sendable {
  static let shared = IOProcs()

  private let table = HandleTable<IOProc>()
  private let handles = Mutex<[UInt]>([])
  /// Held while the IOProc without a function is looked for and made.
  private let makingIdle = Mutex<Void>(())

  /// Adds an IOProc to a device.
  ///
  /// - Returns: The number that stands for it.
  func add(
    _ proc: AudioDeviceIOProc?, _ data: UnsafeMutableRawPointer?, to object: DeviceObject,
    keeping owner: AnyObject? = nil
  ) -> UInt {
    let handle = table.add { _ in unsafe IOProc(object, proc, data, keeping: owner) }
    handles.withLock { $0.append(handle) }
    if let added = table.object(handle) { added.device.add(added.function) }
    return handle
  }

  /// Returns the IOProc of a device by its number or by its function's address.
  func proc(_ id: UInt, of object: DeviceObject) throws(HardwareError) -> IOProc {
    guard let found = find(id, of: object) else { throw .noSuchProc(object.id) }
    return found.proc
  }

  /// Returns the IOProc without a function, which starts and stops the device alone.
  func idleProc(of object: DeviceObject) -> IOProc {
    makingIdle.withLock { _ in
      if let found = find(0, of: object) { return found.proc }
      let handle = unsafe add(nil, nil, to: object)
      if let proc = table.object(handle) { return proc }
      return unsafe IOProc(object, nil, nil, keeping: nil)
    }
  }

  /// Whether the device was started without a function.
  func isStartedAlone(_ object: DeviceObject) -> Bool { find(0, of: object) != nil }

  func remove(_ id: UInt, of object: DeviceObject) throws(HardwareError) {
    guard let (handle, proc) = find(id, of: object), table.remove(handle) != nil else {
      throw .noSuchProc(object.id)
    }
    handles.withLock { $0.removeAll { $0 == handle } }
    proc.device.remove(proc.function)
  }

  private func find(_ id: UInt, of object: DeviceObject) -> (handle: UInt, proc: IOProc)? {
    if id != 0, let proc = table.object(id), proc.device === object.device { return (id, proc) }
    for handle in handles.withLock({ $0 }) {
      guard let proc = table.object(handle) else { continue }
      if proc.device === object.device, proc.address == id { return (handle, proc) }
    }
    return nil
  }
}
