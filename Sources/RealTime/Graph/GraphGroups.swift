import Synchronization

/// The groups of a running order, and how far a block has come with them. The creator owns the memory.
@safe
package struct GraphGroups: ~Copyable {
  let groups: UnsafeMutablePointer<GraphGroup>
  let count: Int
  /// Memory of `blockFrames` samples for each thread, `scratchStride` samples apart.
  let scratch: UnsafeMutablePointer<Float>
  let scratchStride: Int
  /// Groups that have been run in this block.
  let finished = Atomic<Int>(0)

  package init(
    _ groups: UnsafeMutablePointer<GraphGroup>, count: Int,
    scratch: UnsafeMutablePointer<Float>, scratchStride: Int
  ) {
    unsafe self.groups = groups
    self.count = count
    unsafe self.scratch = scratch
    self.scratchStride = scratchStride
  }
}
