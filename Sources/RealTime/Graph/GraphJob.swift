import CRealTime

/// A block whose groups can be claimed.
@safe
package struct GraphJob: BitwiseCopyable {
  let order: UnsafeMutablePointer<GraphOrder>
  let block: cue_block
  let first: Int
  let cycle: Int
}
