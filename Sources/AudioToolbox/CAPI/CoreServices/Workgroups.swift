public import CAudioToolbox
import CLibdispatch
import CRealTime
import Glibc
import Hardware
import Logging
import Server
import Synchronization
import System

// The functions of os/workgroup.h and AudioToolbox/AudioWorkInterval.h. The headers document each function.

/// A group of threads that work for one cycle.
private final class Workgroup: Sendable {
  /// The device of the cycle; nil for a workgroup that the program made.
  let device: HardwareDevice?
  private struct State {
    var keepers = 1
    var isCancelled = false
    var hasBegun = false
  }
  private let state = Mutex(State())

  init(device: HardwareDevice?) { self.device = device }

  func keep() { state.withLock { $0.keepers += 1 } }

  /// Returns true if nobody keeps it any more.
  func release() -> Bool {
    state.withLock {
      $0.keepers -= 1
      return $0.keepers == 0
    }
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }
  func cancel() { state.withLock { $0.isCancelled = true } }

  /// Takes note that an interval begins, goes on or ends. Returns an error number.
  func interval(begins: Bool, ends: Bool = false) -> CInt {
    state.withLock {
      if $0.hasBegun == begins { return begins ? EBUSY : EINVAL }
      $0.hasBegun = !ends
      return 0
    }
  }

  /// The real-time priority of the device's cycles; nil if they have none.
  var priority: Int? {
    guard let device, let open = try? device.open() else { return nil }
    return open.client.realTimePriority
  }
}

private let workgroups = HandleTable<Workgroup>()

/// The workgroup that each thread has joined.
private let joined = Mutex<[UInt: UInt]>([:])

private func find(_ handle: os_workgroup_t) -> Workgroup? {
  workgroups.object(UInt(bitPattern: handle))
}

/// Makes a workgroup that the caller must free. Nil only for a handle of 0, which there is none of.
private func make(device: HardwareDevice?) -> os_workgroup_t? {
  unsafe os_workgroup_t(bitPattern: workgroups.add { _ in Workgroup(device: device) })
}

/// Returns a new workgroup of a device, which the caller frees.
func workgroup(of device: HardwareDevice) -> UInt {
  workgroups.add { _ in Workgroup(device: device) }
}

/// The content of a join token: the workgroup that a thread has joined, and how the thread was scheduled before.
private struct JoinToken: BitwiseCopyable {
  var workgroup: UInt
  var policy: CInt
  var priority: CInt
}

/// Keeps a workgroup or an object of libdispatch.
@c(os_retain)
public func keepObject(_ object: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let group = workgroups.object(UInt(bitPattern: object)) {
    group.keep()
  } else if let object = unsafe object {
    unsafe cue_dispatch_retain(object)
  }
  return unsafe object
}

/// Frees a workgroup or an object of libdispatch.
@c(os_release)
public func releaseObject(_ object: UnsafeMutableRawPointer?) {
  if let group = workgroups.object(UInt(bitPattern: object)) {
    if group.release() { workgroups.remove(UInt(bitPattern: object)) }
  } else if let object = unsafe object {
    unsafe cue_dispatch_release(object)
  }
}

/// See os_workgroup_join in os/workgroup.h.
@c @implementation
public func os_workgroup_join(_ wg: os_workgroup_t, _ token_out: os_workgroup_join_token_t) -> CInt
{
  guard let group = unsafe find(wg), !group.isCancelled, UInt(bitPattern: token_out) != 0 else {
    return EINVAL
  }
  let thread = UInt(pthread_self())
  guard joined.withLock({ $0[thread] }) == nil else { return EALREADY }
  var token = JoinToken(workgroup: UInt(bitPattern: wg), policy: 0, priority: 0)
  var parameters = sched_param()
  unsafe pthread_getschedparam(pthread_self(), &token.policy, &parameters)
  token.priority = parameters.sched_priority
  if let priority = group.priority {
    parameters.sched_priority = CInt(priority)
    guard unsafe pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0 else {
      return EINVAL
    }
  }
  joined.withLock { $0[thread] = token.workgroup }
  unsafe UnsafeMutableRawPointer(token_out).storeBytes(
    of: token, toByteOffset: 8, as: JoinToken.self)
  return 0
}

/// See os_workgroup_leave in os/workgroup.h.
@c @implementation
public func os_workgroup_leave(_ wg: os_workgroup_t, _ token: os_workgroup_join_token_t) {
  guard UInt(bitPattern: token) != 0 else { return }
  let before = unsafe UnsafeRawPointer(token).loadUnaligned(fromByteOffset: 8, as: JoinToken.self)
  let thread = UInt(pthread_self())
  let isMember = joined.withLock {
    guard $0[thread] == UInt(bitPattern: wg), before.workgroup == UInt(bitPattern: wg) else {
      return false
    }
    $0[thread] = nil
    return true
  }
  guard isMember else { return log.warning("os_workgroup_leave: this thread has not joined it") }
  var parameters = sched_param()
  parameters.sched_priority = before.priority
  unsafe pthread_setschedparam(pthread_self(), before.policy, &parameters)
}

/// See os_workgroup_cancel in os/workgroup.h.
@c @implementation
public func os_workgroup_cancel(_ wg: os_workgroup_t) { unsafe find(wg)?.cancel() }

/// See os_workgroup_testcancel in os/workgroup.h.
@c @implementation
public func os_workgroup_testcancel(_ wg: os_workgroup_t) -> Bool {
  unsafe find(wg)?.isCancelled ?? false
}

/// See os_workgroup_max_parallel_threads in os/workgroup.h.
@c @implementation
public func os_workgroup_max_parallel_threads(
  _ wg: os_workgroup_t, _ attr: os_workgroup_mpt_attr_t?
) -> CInt {
  CInt(availableProcessors)
}

/// See os_workgroup_parallel_create in os/workgroup.h.
@c @implementation
public func os_workgroup_parallel_create(
  _ name: UnsafePointer<CChar>?, _ attr: os_workgroup_attr_t?
) -> os_workgroup_parallel_t? { unsafe make(device: nil) }

/// See AudioWorkIntervalCreate in AudioToolbox/AudioWorkInterval.h.
@c @implementation
public func AudioWorkIntervalCreate(
  _ name: UnsafePointer<CChar>, _ clock: os_clockid_t, _ attr: os_workgroup_attr_t?
) -> os_workgroup_interval_t { unsafe make(device: nil)! }

/// Runs the body of a function of intervals for a thread that has joined the workgroup.
private func withInterval(_ wg: os_workgroup_t, _ body: (Workgroup) -> CInt) -> CInt {
  guard let group = unsafe find(wg) else { return EINVAL }
  let isMember = joined.withLock { $0[UInt(pthread_self())] } == UInt(bitPattern: wg)
  return isMember ? body(group) : EPERM
}

/// See os_workgroup_interval_start in os/workgroup.h.
@c @implementation
public func os_workgroup_interval_start(
  _ wg: os_workgroup_interval_t, _ start: UInt64, _ deadline: UInt64,
  _ data: os_workgroup_interval_data_t?
) -> CInt {
  unsafe withInterval(wg) { deadline > start ? $0.interval(begins: true) : EINVAL }
}

/// See os_workgroup_interval_update in os/workgroup.h.
@c @implementation
public func os_workgroup_interval_update(
  _ wg: os_workgroup_interval_t, _ deadline: UInt64, _ data: os_workgroup_interval_data_t?
) -> CInt { unsafe withInterval(wg) { $0.interval(begins: false) } }

/// See os_workgroup_interval_finish in os/workgroup.h.
@c @implementation
public func os_workgroup_interval_finish(
  _ wg: os_workgroup_interval_t, _ data: os_workgroup_interval_data_t?
) -> CInt { unsafe withInterval(wg) { $0.interval(begins: false, ends: true) } }
