import CJack

/// A number that a function of C reads while another thread may set it.
@safe
final class LeaveFlag: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<CInt>

  init() {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: 0)
  }

  deinit { unsafe pointer.deallocate() }

  func set() { unsafe cue_jack_leave(pointer) }
  var isSet: Bool { unsafe cue_jack_is_left(pointer) != 0 }
}
