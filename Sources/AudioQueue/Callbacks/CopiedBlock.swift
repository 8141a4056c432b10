import CDispatch
import CLibdispatch
import Dispatch
import Synchronization

/// A block of the C API, which may lie on its caller's stack: a copy of it. Any thread.
@safe
package final class CopiedBlock: @unchecked Sendable {
  /// The copy.
  package let block: UnsafeRawPointer
  /// Address of the app's block, by which it is found again.
  package let original: UInt

  package init(_ block: UnsafeRawPointer) {
    original = UInt(bitPattern: block)
    unsafe self.block = UnsafeRawPointer(_Block_copy(block))
  }

  deinit { unsafe _Block_release(block) }
}
