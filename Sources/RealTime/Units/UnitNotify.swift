package import CRealTime

/// A function of the app that a unit calls before and after each render.
@safe
package struct UnitNotify: BitwiseCopyable, @unchecked Sendable {
  package let proc: cue_render_proc
  package let data: UnsafeMutableRawPointer?
  package init(_ proc: @escaping cue_render_proc, _ data: UnsafeMutableRawPointer?) {
    unsafe self.proc = proc
    unsafe self.data = data
  }

  /// True if both have the same function and data.
  package func isSame(as other: UnitNotify) -> Bool {
    unsafe unsafeBitCast(proc, to: UInt.self) == unsafeBitCast(other.proc, to: UInt.self)
      && data == other.data
  }
}
