import Synchronization

/// Steps of a running order that run after each other on one thread. Groups that do not depend on each
/// other may run on several.
///
/// Has a fixed address. The creator owns the memory.
@safe
package struct GraphGroup: ~Copyable {
  /// The steps, as indices of the order: from the first to the one before `end`.
  let first: Int
  let end: Int
  /// Number of groups whose output this one reads.
  let sourceCount: Int
  /// Indices of the groups that read this one's output.
  let readers: UnsafeMutablePointer<Int>
  let readerCount: Int
  /// Groups of `sourceCount` that have not been run in this block.
  let missing = Atomic<Int>(0)

  package init(
    steps: Range<Int>, sourceCount: Int, readers: UnsafeMutablePointer<Int>, readerCount: Int
  ) {
    first = steps.lowerBound
    end = steps.upperBound
    self.sourceCount = sourceCount
    unsafe self.readers = readers
    self.readerCount = readerCount
  }
}
